"""How a setting is declared: once, on the field of the dataclass that holds it.

The dataclasses of this package *are* the table of keys. Parsing, validation, DescribeConfigs and the
reference page read the `Key` that `setting` leaves in each field's metadata.
"""

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from inkless.errors import ConfigurationError
from inkless.settings.kinds import Kind

_METADATA = "inkless.settings.key"


@dataclass(frozen=True, slots=True)
class Key:
    """Everything there is to say about one configuration key."""

    name: str
    kind: Kind[Any]
    default: Any
    doc: str
    aliases: tuple[str, ...] = ()
    derived: str = ""
    """How the default comes about where it depends on other settings; empty where it is `default`."""
    sensitive: bool = False

    def parse(self, text: str) -> Any:
        """The value of a text; ConfigurationError where it is not allowed."""
        stripped = text.strip()
        try:
            return self.kind.parse(stripped)
        except ValueError as error:
            shown = "[hidden]" if self.sensitive else repr(stripped)
            raise ConfigurationError(
                f"{self.name}: {shown} is not allowed; allowed is {self.kind.allowed}"
            ) from error


class BoundKey(NamedTuple):
    """A key and the field of the dataclass that holds its value."""

    field_name: str
    key: Key


def setting(
    name: str,
    default: Any,
    kind: Kind[Any],
    doc: str,
    *,
    aliases: tuple[str, ...] = (),
    derived: str = "",
    sensitive: bool = False,
) -> Any:
    """A dataclass field that is read from the configuration key `name`."""
    key = Key(name, kind, default, doc, aliases, derived, sensitive)
    return field(default=default, repr=not sensitive, metadata={_METADATA: key})


def keys_of(section: type[Any]) -> list[BoundKey]:
    """The keys declared on a settings dataclass, in the order of its fields."""
    return [
        BoundKey(each.name, each.metadata[_METADATA])
        for each in fields(section)
        if _METADATA in each.metadata
    ]
