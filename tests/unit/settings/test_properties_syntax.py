import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.settings.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b c", {"a": "b c"}),
        ("a\t=\tb", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a==b", {"a": "=b"}),
        ("a=b=c", {"a": "b=c"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
        ("# a=b\n  ! c=d\n\n e=f", {"e": "f"}),
        ("a=b # not a comment", {"a": "b # not a comment"}),
        ("a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
        ("a=one,\\\n    two", {"a": "one,two"}),
        ("a=one\\\n#two", {"a": "one#two"}),
        ("a=ends in a backslash\\\\\nb=c", {"a": "ends in a backslash\\", "b": "c"}),
        ("a=last line continues\\", {"a": "last line continues"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a=\\t\\n\\r\\f\\q", {"a": "\t\n\r\fq"}),
        ("a=\\u00e9\\uD83D\\uDE00", {"a": "é😀"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=line\u2028separator", {"a": "line\u2028separator"}),
        ("", {}),
    ],
)
def test_text_means_what_java_says_it_means(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\u12g4", "a=\\u"])
def test_malformed_unicode_escape_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="four hexadecimal digits"):
        parse_properties(text)


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_everything_can_be_written_with_escapes(pairs: dict[str, str]) -> None:
    text = "\n".join(f"{_escaped(key)} = {_escaped(value)}" for key, value in pairs.items())
    assert parse_properties(text) == pairs
