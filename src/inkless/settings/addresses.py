"""Addresses as configuration writes them: listeners, and a plain host and port."""

from typing import NamedTuple

from inkless.settings.kinds import ConfigType

_ANY_HOST = "0.0.0.0"  # noqa: S104 - what an empty host in `listeners` means in Kafka, only when the user asks

SECURED_PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
PROTOCOLS = ("PLAINTEXT", *SECURED_PROTOCOLS)


class HostPort(NamedTuple):
    """A host and a TCP port; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ListenerAddress(NamedTuple):
    """One entry of `listeners` or `advertised.listeners`."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{HostPort(self.host, self.port)}"


def parse_host_port(text: str) -> HostPort:
    """`host:port`, with an IPv6 host in brackets; ValueError on anything else."""
    host, colon, port_text = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(text)
    if not colon or not (port_text.isascii() and port_text.isdigit()) or int(port_text) > 65535:
        raise ValueError(text)
    return HostPort(host, int(port_text))


def _parse_listener(text: str) -> ListenerAddress:
    name, separator, address = text.partition("://")
    if not separator or not name.replace("_", "").replace("-", "").isalnum():
        raise ValueError(text)
    host, port = parse_host_port(address)
    return ListenerAddress(name.upper(), host or _ANY_HOST, port)


class Listeners:
    """`NAME://host:port` entries with commas between them, each name once."""

    config_type = ConfigType.LIST
    unit = ""

    def __init__(self, *, empty: bool = False) -> None:
        self._empty = empty

    @property
    def allowed(self) -> str:
        return "NAME://host:port with commas between entries, each name once" + ", or nothing" * self._empty

    def parse(self, text: str) -> tuple[ListenerAddress, ...]:
        entries = tuple(_parse_listener(part.strip()) for part in text.split(",") if part.strip())
        if len({entry.name for entry in entries}) != len(entries) or not (entries or self._empty):
            raise ValueError(text)
        return entries

    def render(self, value: tuple[ListenerAddress, ...]) -> str:
        return ",".join(map(str, value))


class OptionalHostPort:
    """`host:port`, or nothing."""

    config_type = ConfigType.STRING
    unit = ""
    allowed = "host:port, or nothing"

    def parse(self, text: str) -> HostPort | None:
        return parse_host_port(text) if text else None

    def render(self, value: HostPort | None) -> str:
        return "" if value is None else str(value)


class ListenerProtocols:
    """`NAME:PROTOCOL` pairs with commas between them."""

    config_type = ConfigType.STRING
    unit = ""
    allowed = "NAME:PROTOCOL with commas between pairs, or nothing"

    def parse(self, text: str) -> tuple[tuple[str, str], ...]:
        pairs = [part.strip().partition(":") for part in text.split(",") if part.strip()]
        if not all(name and protocol in PROTOCOLS for name, _, protocol in pairs):
            raise ValueError(text)
        return tuple((name.upper(), protocol) for name, _, protocol in pairs)

    def render(self, value: tuple[tuple[str, str], ...]) -> str:
        return ",".join(f"{name}:{protocol}" for name, protocol in value)
