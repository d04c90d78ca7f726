"""Everything that a partition holds, read through the protocol and checked on the way."""

from inkless.records.decode import decode_run
from support.raw_client import RawClient


def stored_values(port: int, topic: str, partition: int) -> list[bytes]:
    """The values of a partition by offset, from 0 to its high watermark.

    Fails when an offset is missing or comes twice, or when the log ends before its high watermark.
    """
    values: list[bytes] = []
    with RawClient(port) as client:
        while True:
            fetched = client.fetch(topic, partition, len(values))
            assert fetched.error_code == 0
            run = memoryview(b"".join(fetched.records or ()))
            if not run:
                assert len(values) == fetched.high_watermark
                return values
            # Fetching goes by whole batches, and we always ask for the beginning of one.
            for record in decode_run(run):
                assert record.offset == len(values), f"offset {record.offset} where {len(values)} was due"
                values.append(record.value or b"")
