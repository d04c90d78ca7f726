from inkless.records.decode import decode_records, decode_run
from inkless.records.encode import encode_batch
from inkless.records.header import iter_headers
from inkless.records.record import Record
from inkless.records.stamp import set_leader_epoch, stamp_log_append_time, stamp_offsets, stamped_views

THREE = encode_batch([Record(i, 1_000 + i, None, b"%d" % i) for i in range(3)])
TWO = encode_batch([Record(i, 2_000 + i, b"k", b"") for i in range(2)])


def test_offsets_run_on_over_the_batches() -> None:
    run = memoryview(bytearray(THREE + TWO))
    assert stamp_offsets(run, 500) == 505
    assert [header.base_offset for _, header in iter_headers(run)] == [500, 503]
    assert [record.offset for record in decode_run(run)] == [500, 501, 502, 503, 504]


def test_leader_epoch_is_set_on_every_batch_and_keeps_the_crc() -> None:
    run = memoryview(bytearray(THREE + TWO))
    set_leader_epoch(run, 11)
    assert [header.leader_epoch for _, header in iter_headers(run)] == [11, 11]
    assert len(decode_run(run)) == 5


def test_views_are_the_run_with_offsets_and_epoch_and_leave_it_alone() -> None:
    original = THREE + TWO
    expected = bytearray(original)
    stamp_offsets(memoryview(expected), 9)
    set_leader_epoch(memoryview(expected), 4)
    source = bytearray(original)
    buffers = stamped_views(memoryview(source), 9, 4)
    assert b"".join(buffers) == expected
    assert source == original
    source[-1] ^= 0xFF
    assert b"".join(buffers)[-1] != expected[-1], "the records must be seen, not copied"


def test_append_time_replaces_all_timestamps_and_signs_anew() -> None:
    run = memoryview(bytearray(THREE + TWO))
    stamp_log_append_time(run, 5_000)
    assert all(header.is_log_append_time for _, header in iter_headers(run))
    assert {record.timestamp_ms for record in decode_run(run)} == {5_000}
    assert [record.value for record in decode_records(run)] == [b"0", b"1", b"2"]
