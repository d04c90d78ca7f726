"""Lines of stdin as records to produce."""

import asyncio
import contextlib
import io
import os
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import BinaryIO

CHUNK_BYTES = 65536
CHUNKS_WAITING_MAX = 4
LINE_BYTES_MAX = 64 * 1024 * 1024
"""More than any broker takes in one record; a file without newlines must not fill the memory."""


@dataclass(frozen=True, slots=True)
class LineRules:
    """How a line becomes a key and a value."""

    key_separator: bytes | None = None
    null_text: bytes | None = None

    def parse(self, line: bytes) -> tuple[bytes | None, bytes | None]:
        """Key and value of a line without its newline; ValueError when a separator is wanted and missing."""
        if self.key_separator is None:
            return None, self.nullable(line)
        key, separator, value = line.partition(self.key_separator)
        if not separator:
            raise ValueError(f"no key separator {self.key_separator.decode(errors='replace')!r} in it")
        return self.nullable(key), self.nullable(value)

    def nullable(self, text: bytes) -> bytes | None:
        """The text, or None where it is the one that stands for null."""
        return None if self.null_text is not None and text == self.null_text else text


async def read_lines(stream: BinaryIO) -> AsyncIterator[list[bytes]]:
    """Lines without their newline, as many at a time as have arrived; a last line needs no newline.

    A carriage return before the newline belongs to the line: values are bytes, and only the newline was asked
    to part them.
    """
    partial = bytearray()
    async for chunk in _read_chunks(stream):
        partial += chunk
        # A long line arrives in many chunks; splitting only when one ends it keeps the work linear.
        if b"\n" in chunk:
            *lines, rest = bytes(partial).split(b"\n")
            partial = bytearray(rest)
            yield lines
        if len(partial) > LINE_BYTES_MAX:
            raise ValueError(f"it is longer than {LINE_BYTES_MAX} bytes")
    if partial:
        yield [bytes(partial)]


async def _read_chunks(stream: BinaryIO) -> AsyncIterator[bytes]:
    """Reads in a daemon thread: a thread pool would wait at exit for a read that only the user can end."""
    loop = asyncio.get_running_loop()
    room = threading.Semaphore(CHUNKS_WAITING_MAX)
    chunks: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    abandoned = threading.Event()

    def hand_over() -> None:
        read = _reader(stream)
        more = True
        while more and room.acquire() and not abandoned.is_set():
            item = _read_or_error(read)
            more = isinstance(item, bytes) and item != b""
            # The loop is closed when the command has ended while this thread was waiting for input.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(chunks.put_nowait, item)

    threading.Thread(target=hand_over, name="stdin", daemon=True).start()
    try:
        while item := await chunks.get():
            if isinstance(item, OSError):
                raise item
            room.release()
            yield item
    finally:
        abandoned.set()
        room.release()


def _read_or_error(read: Callable[[int], bytes]) -> bytes | OSError:
    try:
        return read(CHUNK_BYTES)
    except OSError as error:
        return error


def _reader(stream: BinaryIO) -> Callable[[int], bytes]:
    """Past Python's buffered reader where there is a descriptor: a thread that is inside it when the
    interpreter ends would hold its lock and turn the exit into a crash."""
    try:
        descriptor = stream.fileno()
    except (OSError, io.UnsupportedOperation):
        return stream.read
    return lambda count: os.read(descriptor, count)
