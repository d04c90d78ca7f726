"""What a value may be: how its text is read, what is allowed, and how it is written back.

A kind knows nothing of keys. `parse` raises ValueError on text it does not take; the caller, who knows the
key, adds it to the message together with `allowed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import isfinite
from typing import Protocol, TypeVar

T = TypeVar("T")

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

KIB = 1024
MIB = 1024 * KIB


class ConfigType(IntEnum):
    """The types of DescribeConfigs (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Kind(Protocol[T]):
    """Reading, judging and writing one sort of value."""

    @property
    def config_type(self) -> ConfigType: ...

    @property
    def unit(self) -> str:
        """What a number counts; empty where it is not a number of something."""
        ...

    @property
    def allowed(self) -> str:
        """What `parse` takes, in words for a person."""
        ...

    def parse(self, text: str) -> T:
        """The value, or ValueError."""
        ...

    def render(self, value: T) -> str:
        """Text that `parse` turns into the same value."""
        ...


@dataclass(frozen=True, slots=True)
class Whole:
    """An integer between two bounds, both included."""

    minimum: int
    maximum: int = INT_MAX
    unit: str = ""

    @property
    def config_type(self) -> ConfigType:
        return ConfigType.INT if self.maximum <= INT_MAX else ConfigType.LONG

    @property
    def allowed(self) -> str:
        return f"an integer from {self.minimum} to {self.maximum}"

    def parse(self, text: str) -> int:
        value = int(text)
        if not self.minimum <= value <= self.maximum:
            raise ValueError(text)
        return value

    def render(self, value: int) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Decimal:
    """A finite number between two bounds, both included."""

    minimum: float
    maximum: float
    unit: str = ""

    @property
    def config_type(self) -> ConfigType:
        return ConfigType.DOUBLE

    @property
    def allowed(self) -> str:
        return f"a number from {self.minimum:.15g} to {self.maximum:.15g}"

    def parse(self, text: str) -> float:
        value = float(text)
        if not isfinite(value) or not self.minimum <= value <= self.maximum:
            raise ValueError(text)
        return value

    def render(self, value: float) -> str:
        return f"{value:.15g}"


@dataclass(frozen=True, slots=True)
class Switch:
    """`true` or `false`, in any case, as Kafka reads them."""

    unit: str = ""

    @property
    def config_type(self) -> ConfigType:
        return ConfigType.BOOLEAN

    @property
    def allowed(self) -> str:
        return "true or false"

    def parse(self, text: str) -> bool:
        value = {"true": True, "false": False}.get(text.lower())
        if value is None:
            raise ValueError(text)
        return value

    def render(self, value: bool) -> str:
        return "true" if value else "false"


@dataclass(frozen=True, slots=True)
class FixedSwitch:
    """A switch that has only one position here, kept so that tools which set it to that position work."""

    value: bool
    unit: str = ""

    @property
    def config_type(self) -> ConfigType:
        return ConfigType.BOOLEAN

    @property
    def allowed(self) -> str:
        return f"only {self.render(self.value)}"

    def parse(self, text: str) -> bool:
        if text.lower() != self.render(self.value):
            raise ValueError(text)
        return self.value

    def render(self, value: bool) -> str:
        return "true" if value else "false"


@dataclass(frozen=True, slots=True)
class Text:
    """Any text."""

    allowed: str = "text"
    config_type: ConfigType = ConfigType.STRING
    unit: str = ""

    def parse(self, text: str) -> str:
        return text

    def render(self, value: str) -> str:
        return value


@dataclass(frozen=True, slots=True)
class OptionalText:
    """Any text; an empty one means that there is none."""

    allowed: str = "text, or nothing"
    config_type: ConfigType = ConfigType.STRING
    unit: str = ""

    def parse(self, text: str) -> str | None:
        return text or None

    def render(self, value: str | None) -> str:
        return value or ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words; the case is taken as `fold` has it."""

    words: Sequence[str]
    fold: bool = False
    unit: str = ""

    @property
    def config_type(self) -> ConfigType:
        return ConfigType.STRING

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(self.words) if len(self.words) > 1 else f"only {self.words[0]}"

    def parse(self, text: str) -> str:
        for word in self.words:
            if word == text or (self.fold and word.lower() == text.lower()):
                return word
        raise ValueError(text)

    def render(self, value: str) -> str:
        return value


@dataclass(frozen=True, slots=True)
class WordList:
    """Words with commas between them; from a fixed set where there is one."""

    words: Sequence[str] = ()
    unit: str = ""

    @property
    def config_type(self) -> ConfigType:
        return ConfigType.LIST

    @property
    def allowed(self) -> str:
        if not self.words:
            return "words with commas between them"
        return "one or more of " + ", ".join(self.words) + ", with commas between them"

    def parse(self, text: str) -> tuple[str, ...]:
        parts = tuple(part.strip() for part in text.split(",") if part.strip())
        if self.words and (not parts or any(part not in self.words for part in parts)):
            raise ValueError(text)
        return parts

    def render(self, value: tuple[str, ...]) -> str:
        return ",".join(value)


def milliseconds(minimum: int = 0, maximum: int = INT_MAX) -> Whole:
    """A whole number of milliseconds."""
    return Whole(minimum, maximum, "ms")


def byte_count(minimum: int = 0, maximum: int = INT_MAX) -> Whole:
    """A whole number of bytes."""
    return Whole(minimum, maximum, "bytes")
