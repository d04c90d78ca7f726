"""Incremental fetch sessions (KIP-227): the client names its partitions once, then only what changes.

Pure: no clock, no I/O. A session is a convenience of this broker; losing it costs one full request.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode

NO_SESSION_ID = 0
FULL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = 2**31 - 1
_EVICTABLE_AFTER_S = 120.0


class SessionPartition(NamedTuple):
    """Which partition, as its client names it: by name before version 13, by id from then on."""

    topic: str | bytes
    partition: int


@dataclass(slots=True)
class Position:
    """What a client wants of a partition, and what it was told last."""

    fetch_offset: int
    bytes_max: int
    high_watermark: int = -1
    log_start_offset: int = -1


@dataclass(slots=True)
class FetchSession:
    """The partitions of one client, in the order they are served."""

    session_id: int
    epoch: int = 1
    positions: dict[SessionPartition, Position] = field(default_factory=dict)
    used_at: float = 0.0

    def update(
        self, wanted: Mapping[SessionPartition, Position], forgotten: Iterable[SessionPartition]
    ) -> None:
        for partition, position in wanted.items():
            known = self.positions.get(partition)
            if known is None:
                self.positions[partition] = position
            else:
                known.fetch_offset = position.fetch_offset
                known.bytes_max = position.bytes_max
        for partition in forgotten:
            self.positions.pop(partition, None)

    def must_tell(self, partition: SessionPartition, *, high_watermark: int, log_start_offset: int) -> bool:
        """Whether a partition without records is news to the client; remembers what it is told."""
        position = self.positions.get(partition)
        if position is None:
            return True
        news = position.high_watermark != high_watermark or position.log_start_offset != log_start_offset
        position.high_watermark = high_watermark
        position.log_start_offset = log_start_offset
        return news

    def move_to_end(self, partition: SessionPartition) -> None:
        """A partition that was served stands behind the others, so that none starves under a byte limit."""
        position = self.positions.pop(partition, None)
        if position is not None:
            self.positions[partition] = position


class FetchSessions:
    """All sessions of this broker, the least recently used first."""

    def __init__(self, *, sessions_max: int) -> None:
        self._sessions_max = sessions_max
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._last_id = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, now: float) -> FetchSession | None:
        """A new session, or None when all places are taken by sessions in use: the client then sends full
        requests, which is slower and as correct."""
        if self._sessions_max <= 0:
            return None
        if len(self._sessions) >= self._sessions_max:
            oldest = next(iter(self._sessions.values()))
            if now - oldest.used_at < _EVICTABLE_AFTER_S:
                return None
            del self._sessions[oldest.session_id]
        self._last_id = self._last_id % _EPOCH_MAX + 1
        while self._last_id in self._sessions:
            self._last_id = self._last_id % _EPOCH_MAX + 1
        session = FetchSession(self._last_id, used_at=now)
        self._sessions[session.session_id] = session
        return session

    def resume(self, session_id: int, epoch: int, now: float) -> FetchSession:
        """The session for its next request; advances its epoch."""
        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise RequestError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        session.used_at = now
        self._sessions.move_to_end(session_id)
        return session

    def end(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)
