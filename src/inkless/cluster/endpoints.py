"""Where clients reach a broker."""

from inkless.coordinator.types import BrokerRegistration, Listener


def endpoint(broker: BrokerRegistration, listener: str) -> Listener | None:
    """The broker's address under a listener name, else its first one; None for a broker without listeners.

    A client came in through one listener and shall stay there: the other names may lead through networks
    that it cannot reach.
    """
    for candidate in broker.listeners:
        if candidate.name == listener:
            return candidate
    return broker.listeners[0] if broker.listeners else None
