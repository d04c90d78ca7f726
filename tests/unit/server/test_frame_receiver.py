"""However the bytes of a stream are cut, the same frames come out."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.buffers import BufferPool
from inkless.protocol.errors import MalformedBytes
from inkless.server.receiving import FrameReceiver, ReceiveMemory

SCRATCH = 1024


def receive_memory(bytes_max: int = 1 << 20) -> ReceiveMemory:
    return ReceiveMemory(scratch_bytes=SCRATCH, pool=BufferPool(idle_bytes_max=1 << 20), bytes_max=bytes_max)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def feed(receiver: FrameReceiver, stream: bytes, cuts: list[int]) -> list[bytes]:
    frames: list[bytes] = []
    position = 0
    cut = 0
    while position < len(stream):
        room = receiver.buffer()
        count = min(len(room), max(1, cuts[cut % len(cuts)]), len(stream) - position)
        cut += 1
        room[:count] = stream[position : position + count]
        position += count
        frames += [bytes(frame.view) for frame in receiver.received(count)]
        assert not receiver.starved
    return frames


@given(
    bodies=st.lists(st.binary(min_size=1, max_size=5000), max_size=12),
    cuts=st.lists(st.integers(1, 3000), min_size=1, max_size=20),
)
def test_frames_do_not_depend_on_how_the_stream_is_cut(bodies: list[bytes], cuts: list[int]) -> None:
    receiver = FrameReceiver(receive_memory(), frame_bytes_max=10_000)
    assert feed(receiver, b"".join(map(framed, bodies)), cuts) == bodies


@pytest.mark.parametrize("length", [-1, 0, 10_001, 2**31 - 1, -(2**31)])
def test_a_length_that_no_frame_has_is_refused(length: int) -> None:
    receiver = FrameReceiver(receive_memory(), frame_bytes_max=10_000)
    receiver.buffer()[:4] = struct.pack(">i", length)
    with pytest.raises(MalformedBytes):
        receiver.received(4)


def test_a_bad_length_is_refused_also_when_it_arrives_byte_by_byte() -> None:
    receiver = FrameReceiver(receive_memory(), frame_bytes_max=10_000)
    with pytest.raises(MalformedBytes):
        feed(receiver, struct.pack(">i", 10_001), [1])


def test_a_large_frame_owns_its_bytes_and_a_small_one_does_not() -> None:
    receiver = FrameReceiver(receive_memory(), frame_bytes_max=10_000)
    stream = framed(b"small") + framed(bytes(5000))
    receiver.buffer()[:SCRATCH] = stream[:SCRATCH]
    (small,) = receiver.received(SCRATCH)
    assert not small.is_owned
    rest = stream[SCRATCH:]
    receiver.buffer()[: len(rest)] = rest
    (large,) = receiver.received(len(rest))
    assert large.is_owned


def test_a_frame_waits_when_too_much_memory_is_held() -> None:
    memory = receive_memory(bytes_max=100_000)
    held = memory.try_lease(90_000)
    receiver = FrameReceiver(memory, frame_bytes_max=200_000)
    stream = framed(bytes(80_000))
    receiver.buffer()[:SCRATCH] = stream[:SCRATCH]
    assert receiver.received(SCRATCH) == []
    assert receiver.starved
    assert not receiver.retry()
    del held
    assert receiver.retry()
    rest = stream[SCRATCH:]
    receiver.buffer()[: len(rest)] = rest
    (frame,) = receiver.received(len(rest))
    assert bytes(frame.view) == bytes(80_000)


def test_one_frame_over_the_budget_is_let_in_when_nothing_else_is_held() -> None:
    assert receive_memory(bytes_max=1000).try_lease(100_000) is not None
