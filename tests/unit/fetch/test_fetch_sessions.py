"""Incremental fetch sessions (KIP-227)."""

import pytest

from inkless.errors import RequestError
from inkless.fetch.sessions import FetchSessions, Position, SessionPartition
from inkless.protocol.error_codes import ErrorCode

A, B = SessionPartition("topic", 0), SessionPartition("topic", 1)


def test_epochs_count_up_from_one() -> None:
    sessions = FetchSessions(sessions_max=10)
    session = sessions.begin(now=0.0)
    assert session is not None
    assert sessions.resume(session.session_id, 1, now=0.0) is session
    assert sessions.resume(session.session_id, 2, now=0.0) is session


def test_a_repeated_epoch_is_refused() -> None:
    sessions = FetchSessions(sessions_max=10)
    session = sessions.begin(now=0.0)
    assert session is not None
    sessions.resume(session.session_id, 1, now=0.0)
    with pytest.raises(RequestError) as refused:
        sessions.resume(session.session_id, 1, now=0.0)
    assert refused.value.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_an_unknown_session_is_named_as_such() -> None:
    with pytest.raises(RequestError) as refused:
        FetchSessions(sessions_max=10).resume(7, 1, now=0.0)
    assert refused.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_epoch_wraps_to_one() -> None:
    sessions = FetchSessions(sessions_max=10)
    session = sessions.begin(now=0.0)
    assert session is not None
    session.epoch = 2**31 - 1
    sessions.resume(session.session_id, 2**31 - 1, now=0.0)
    assert session.epoch == 1


def test_a_session_in_use_is_not_evicted_for_another() -> None:
    sessions = FetchSessions(sessions_max=1)
    first = sessions.begin(now=0.0)
    assert first is not None
    assert sessions.begin(now=1.0) is None
    second = sessions.begin(now=1000.0)
    assert second is not None
    assert len(sessions) == 1


def test_only_what_changes_is_sent_and_the_rest_is_remembered() -> None:
    sessions = FetchSessions(sessions_max=10)
    session = sessions.begin(now=0.0)
    assert session is not None
    session.update({A: Position(0, 100), B: Position(5, 100)}, ())
    session.update({A: Position(10, 200)}, ())
    assert session.positions[A].fetch_offset == 10
    assert session.positions[B].fetch_offset == 5
    session.update({}, [B])
    assert list(session.positions) == [A]


def test_a_partition_without_news_is_not_told_again() -> None:
    sessions = FetchSessions(sessions_max=10)
    session = sessions.begin(now=0.0)
    assert session is not None
    session.update({A: Position(0, 100)}, ())
    assert session.must_tell(A, high_watermark=5, log_start_offset=0)
    assert not session.must_tell(A, high_watermark=5, log_start_offset=0)
    assert session.must_tell(A, high_watermark=6, log_start_offset=0)
    assert session.must_tell(A, high_watermark=6, log_start_offset=1)


def test_a_served_partition_goes_behind_the_others() -> None:
    sessions = FetchSessions(sessions_max=10)
    session = sessions.begin(now=0.0)
    assert session is not None
    session.update({A: Position(0, 1), B: Position(0, 1)}, ())
    session.move_to_end(A)
    assert list(session.positions) == [B, A]


def test_no_slots_means_no_sessions() -> None:
    assert FetchSessions(sessions_max=0).begin(now=0.0) is None
