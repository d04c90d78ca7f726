from hypothesis import given
from hypothesis import strategies as st

from inkless.coordinator.batch_index import BatchSpan, cut_run, pack_batch_index

batches = st.lists(st.tuples(st.integers(1, 50), st.integers(61, 100_000)), min_size=2, max_size=50)


def cut_by_walking(run: list[tuple[int, int]], from_offset: int, bytes_max: int) -> BatchSpan:
    offset = position = 0
    taken: list[tuple[int, int, int, int]] = []
    taken_bytes = 0
    for record_count, byte_length in run:
        if offset + record_count > from_offset:
            if taken and taken_bytes + byte_length > bytes_max:
                break
            taken.append((position, position + byte_length, offset, offset + record_count))
            taken_bytes += byte_length
        offset += record_count
        position += byte_length
    return BatchSpan(taken[0][0], taken[-1][1], taken[0][2], taken[-1][3])


@given(batches, st.data())
def test_cut_is_what_walking_batch_by_batch_finds(run: list[tuple[int, int]], data: st.DataObject) -> None:
    index = pack_batch_index([count for count, _ in run], [length for _, length in run])
    assert index is not None
    from_offset = data.draw(st.integers(0, sum(count for count, _ in run) - 1))
    bytes_max = data.draw(st.integers(0, sum(length for _, length in run) + 10))
    assert cut_run(index, from_offset=from_offset, bytes_max=bytes_max) == cut_by_walking(
        run, from_offset, bytes_max
    )


def test_run_of_one_batch_needs_no_index() -> None:
    assert pack_batch_index([5], [100]) is None


def test_index_of_small_batches_takes_three_bytes_for_each() -> None:
    index = pack_batch_index([1] * 1000, [200] * 1000)
    assert index is not None
    assert len(index) < 3 * 1000 + 10
