"""Batches against themselves and against the two other Python implementations, in both directions."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given
from hypothesis import strategies as st

from inkless.errors import CorruptData, RequestError
from inkless.records.compress import Codec
from inkless.records.decode import decode_records
from inkless.records.encode import ProducerStamp, encode_batch
from inkless.records.header import read_header
from inkless.records.record import Record
from inkless.records.validate import BatchRules, split_batches

with warnings.catch_warnings():
    # kafka-python loads its schemas through a function that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import codec as kafka_python_codecs
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

NOW_MS = 1_700_000_000_000
RULES = BatchRules(max_message_bytes=1 << 30)

content = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=20), content), max_size=4).map(tuple)
fields = st.tuples(
    # Both oracles take -1 for "now" or for "none yet", so the timestamps stay real ones.
    st.integers(min_value=0, max_value=NOW_MS),
    content,
    content,
    headers,
)
record_lists = st.lists(fields, min_size=1, max_size=30).map(
    lambda rows: [Record(offset, *row) for offset, row in enumerate(rows)]
)
codecs = st.sampled_from(Codec)
producers = st.just(ProducerStamp()) | st.builds(
    ProducerStamp,
    producer_id=st.integers(0, 2**63 - 1),
    producer_epoch=st.integers(0, 2**15 - 1),
    base_sequence=st.integers(0, 2**31 - 1),
)

_kafka_python_has: dict[Codec, Callable[[], bool]] = {
    Codec.NONE: lambda: True,
    Codec.GZIP: kafka_python_codecs.has_gzip,
    Codec.SNAPPY: kafka_python_codecs.has_snappy,
    Codec.LZ4: kafka_python_codecs.has_lz4,
    Codec.ZSTD: kafka_python_codecs.has_zstd,
}
oracle_codecs = pytest.mark.parametrize(
    ("builder", "reader", "codec"),
    [
        *(
            pytest.param(AiokafkaBuilder, AiokafkaBatch, codec, id=f"aiokafka-{codec.name}")
            for codec in Codec
        ),
        *(
            pytest.param(
                KafkaPythonBuilder,
                KafkaPythonBatch,
                codec,
                id=f"kafka-python-{codec.name}",
                marks=pytest.mark.skipif(not has(), reason=f"kafka-python's {codec.name} codec is missing"),
            )
            for codec, has in _kafka_python_has.items()
        ),
    ],
)


def build_with(builder: Any, records: list[Record], codec: Codec, producer: ProducerStamp) -> bytes:
    batch = builder(
        magic=2,
        compression_type=int(codec),
        is_transactional=0,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=producer.base_sequence,
        batch_size=1 << 30,
    )
    for record in records:
        appended = batch.append(
            record.offset, record.timestamp_ms, record.key, record.value, list(record.headers)
        )
        assert appended is not None
    return bytes(batch.build())


def read_with(reader: Any, batch: bytes) -> list[Record]:
    parsed = reader(batch)
    assert parsed.validate_crc()
    return [Record(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in parsed]


@given(record_lists, codecs, producers)
def test_batches_read_back_and_pass_validation(
    records: list[Record], codec: Codec, producer: ProducerStamp
) -> None:
    batch = memoryview(encode_batch(records, codec=codec, producer=producer))
    assert decode_records(batch) == records
    (header,) = split_batches(batch, RULES, now_ms=NOW_MS)
    assert header.record_count == len(records)
    assert header.max_timestamp == max(record.timestamp_ms for record in records)


@oracle_codecs
@given(records=record_lists, producer=producers)
def test_what_others_build_we_accept_and_read(
    builder: Any, reader: Any, codec: Codec, records: list[Record], producer: ProducerStamp
) -> None:
    batch = memoryview(build_with(builder, records, codec, producer))
    assert len(split_batches(batch, RULES, now_ms=NOW_MS)) == 1
    assert decode_records(batch) == records


@oracle_codecs
@given(records=record_lists, producer=producers)
def test_what_we_build_others_read(
    builder: Any, reader: Any, codec: Codec, records: list[Record], producer: ProducerStamp
) -> None:
    assert read_with(reader, encode_batch(records, codec=codec, producer=producer)) == records


@pytest.mark.parametrize("builder", [AiokafkaBuilder, KafkaPythonBuilder])
@given(records=record_lists, producer=producers)
def test_uncompressed_batches_are_the_same_bytes(
    builder: Any, records: list[Record], producer: ProducerStamp
) -> None:
    theirs = build_with(builder, records, Codec.NONE, producer)
    epoch = read_header(memoryview(theirs)).leader_epoch
    assert encode_batch(records, producer=producer, leader_epoch=epoch) == theirs


@given(record_lists, codecs, st.data())
def test_any_damage_ends_in_the_right_error(records: list[Record], codec: Codec, data: st.DataObject) -> None:
    batch = bytearray(encode_batch(records, codec=codec))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    damaged = memoryview(batch)[: data.draw(st.integers(0, len(batch)))]
    with suppress(RequestError):
        split_batches(damaged, RULES, now_ms=NOW_MS)
    with suppress(CorruptData):
        decode_records(damaged, check_crc=False, decompressed_bytes_max=1 << 20)


@given(st.binary(max_size=400))
def test_any_bytes_end_in_the_right_error(noise: bytes) -> None:
    with pytest.raises(RequestError):
        split_batches(memoryview(noise), RULES, now_ms=NOW_MS)
    with pytest.raises(CorruptData):
        decode_records(memoryview(noise))
