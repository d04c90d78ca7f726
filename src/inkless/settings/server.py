"""Settings of the broker process: who it is, where it listens, what its clients may ask and cost."""

from dataclasses import dataclass

from inkless.settings.addresses import (
    HostPort,
    ListenerAddress,
    ListenerProtocols,
    Listeners,
    OptionalHostPort,
)
from inkless.settings.keys import setting
from inkless.settings.kinds import (
    INT_MAX,
    KIB,
    LONG_MAX,
    MIB,
    OptionalText,
    Switch,
    Whole,
    byte_count,
    milliseconds,
)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The broker's identity, listeners and limits."""

    node_id: int = setting(
        "node.id",
        0,
        Whole(0),
        "The number of this broker, unique in its cluster.",
        aliases=("broker.id",),
    )
    rack: str | None = setting(
        "broker.rack",
        None,
        OptionalText("a zone's name, or nothing"),
        "The availability zone this broker stands in; clients of the same zone are routed to it.",
    )
    listeners: tuple[ListenerAddress, ...] = setting(
        "listeners",
        (ListenerAddress("PLAINTEXT", "127.0.0.1", 9092),),
        Listeners(),
        "Where the broker listens. An empty host means all interfaces, port 0 a port of the system's choice.",
    )
    advertised_listeners: tuple[ListenerAddress, ...] = setting(
        "advertised.listeners",
        (),
        Listeners(empty=True),
        "The addresses clients are told to use, by listener name; a listener not named here is advertised as "
        "it is bound.",
        derived="the same as listeners",
    )
    inter_broker_listener: str | None = setting(
        "inter.broker.listener.name",
        None,
        OptionalText("the name of a listener, or nothing"),
        "The listener that other brokers connect to.",
        derived="the first of listeners",
    )
    listener_protocols: tuple[tuple[str, str], ...] = setting(
        "listener.security.protocol.map",
        (),
        ListenerProtocols(),
        "The security protocol of each listener by name. Only PLAINTEXT is served; a listener that is mapped "
        "to another one is refused.",
    )
    connections_max: int = setting(
        "max.connections",
        4096,
        Whole(1),
        "Connections open at once; one more is closed as soon as it is accepted.",
    )
    connection_idle_ms: int = setting(
        "connections.max.idle.ms",
        600_000,
        milliseconds(1, LONG_MAX),
        "A connection with no request for this long is closed.",
    )
    frame_bytes_max: int = setting(
        "socket.request.max.bytes",
        100 * MIB,
        byte_count(KIB),
        "The largest request; a connection that announces a larger one is closed.",
    )
    requests_in_flight_max: int = setting(
        "inkless.connection.max.in.flight.requests",
        512,
        Whole(1, 65536),
        "Requests of one connection that are worked on at once; further ones stay unread.",
    )
    receive_memory_bytes_max: int = setting(
        "queued.max.request.bytes",
        128 * MIB,
        byte_count(MIB, LONG_MAX),
        "Bytes of requests held by all connections together; beyond it sockets are not read.",
    )
    receive_buffer_bytes: int = setting(
        "inkless.connection.receive.buffer.bytes",
        64 * KIB,
        byte_count(4 * KIB, 16 * MIB),
        "The buffer that all connections read into; a request that arrives in parts gets memory of its own.",
    )
    write_buffer_bytes_max: int = setting(
        "inkless.connection.write.buffer.max.bytes",
        4 * MIB,
        byte_count(KIB),
        "Response bytes a slow client may leave unread before its further requests wait.",
    )
    shutdown_timeout_ms: int = setting(
        "inkless.shutdown.timeout.ms",
        30_000,
        milliseconds(0),
        "How long a stopping broker waits for the requests it has accepted.",
    )
    lease_ms: int = setting(
        "inkless.broker.lease.ms",
        10_000,
        milliseconds(500, 600_000),
        "A broker that does not renew its lease for this long counts as dead.",
    )
    auto_create_topics: bool = setting(
        "auto.create.topics.enable",
        True,
        Switch(),
        "Whether a topic is created when a client that allows it first asks for it.",
    )
    partitions_default: int = setting(
        "num.partitions",
        1,
        Whole(1, 10_000),
        "Partitions of a topic that is created without a number of its own.",
    )
    delete_topic_enable: bool = setting(
        "delete.topic.enable",
        True,
        Switch(),
        "Whether clients may delete topics.",
    )
    partitions_per_topic_max: int = setting(
        "inkless.topic.max.partitions",
        10_000,
        Whole(1, 1_000_000),
        "The most partitions one topic may have.",
    )
    topics_max: int = setting(
        "inkless.topics.max",
        100_000,
        Whole(1, INT_MAX),
        "The most topics the cluster may have.",
    )
    metrics_address: HostPort | None = setting(
        "inkless.metrics.listen",
        None,
        OptionalHostPort(),
        "Where /metrics and /healthz are served over HTTP; nothing serves neither.",
    )
