"""What must hold between settings that are each fine alone."""

from collections.abc import Iterator

from inkless.errors import ConfigurationError
from inkless.settings.addresses import SECURED_PROTOCOLS
from inkless.settings.groups import GroupSettings
from inkless.settings.produce import ProduceSettings
from inkless.settings.server import ServerSettings


def check_rules(*, server: ServerSettings, produce: ProduceSettings, groups: GroupSettings) -> None:
    """ConfigurationError names the first rule that is broken."""
    for broken in (*_listener_rules(server), *_memory_rules(server, produce), *_group_rules(groups)):
        raise ConfigurationError(broken)


def _listener_rules(server: ServerSettings) -> Iterator[str]:
    names = [listener.name for listener in server.listeners]
    known = ", ".join(names)
    mapped = dict(server.listener_protocols)
    for name in names:
        # Serving such a listener in the clear would break a promise its name makes.
        if mapped.get(name, name) in SECURED_PROTOCOLS:
            yield f"listeners: {name} needs a security protocol that is not supported; allowed is PLAINTEXT"
    for advertised in server.advertised_listeners:
        if advertised.name not in names:
            yield f"advertised.listeners: {advertised.name} is not one of the listeners {known}"
        if advertised.host in {"0.0.0.0", "::"} or advertised.port == 0:  # noqa: S104 - refused, not bound
            yield f"advertised.listeners: {advertised} is no address that a client can connect to"
    if server.inter_broker_listener is not None and server.inter_broker_listener not in names:
        yield f"inter.broker.listener.name: {server.inter_broker_listener!r} is none of the listeners {known}"


def _memory_rules(server: ServerSettings, produce: ProduceSettings) -> Iterator[str]:
    if server.receive_memory_bytes_max < server.frame_bytes_max:
        yield (
            f"queued.max.request.bytes: {server.receive_memory_bytes_max} is less than "
            f"socket.request.max.bytes ({server.frame_bytes_max}), the largest request that has to fit"
        )
    if produce.memory_bytes_max < produce.buffer_bytes_max:
        yield (
            f"inkless.produce.memory.max.bytes: {produce.memory_bytes_max} is less than "
            f"inkless.produce.buffer.max.bytes ({produce.buffer_bytes_max})"
        )


def _group_rules(groups: GroupSettings) -> Iterator[str]:
    if groups.session_timeout_max_ms < groups.session_timeout_min_ms:
        yield (
            f"group.max.session.timeout.ms: {groups.session_timeout_max_ms} is less than "
            f"group.min.session.timeout.ms ({groups.session_timeout_min_ms})"
        )
