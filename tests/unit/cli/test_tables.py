from inkless.cli.tables import format_count, format_fields, format_table


def test_columns_are_aligned_and_numbers_set_to_the_right() -> None:
    assert format_table(["topic", "partitions"], [["orders", 3], ["x", 12]]).splitlines() == [
        "TOPIC   PARTITIONS",
        "orders           3",
        "x               12",
    ]


def test_a_missing_cell_is_a_dash_so_that_words_can_be_counted() -> None:
    assert format_table(["a", "b"], [["", None]]).splitlines()[1].split() == ["-", "-"]


def test_a_table_without_rows_is_its_header() -> None:
    assert format_table(["name", "value"], []) == "NAME  VALUE"


def test_a_column_that_mixes_text_and_numbers_is_set_to_the_left() -> None:
    assert format_table(["offset"], [[7], ["latest"]]).splitlines()[1] == "7"


def test_fields_have_their_values_under_each_other() -> None:
    assert format_fields([("id", 1), ("cluster", "abc")]).splitlines() == ["id:       1", "cluster:  abc"]


def test_counts_agree_with_their_noun() -> None:
    assert [format_count(n, "record") for n in (0, 1, 1234)] == ["0 records", "1 record", "1,234 records"]
