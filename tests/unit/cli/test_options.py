import click
import pytest

from inkless.cli.options import parse_addresses, parse_key_value


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("127.0.0.1:9092", (("127.0.0.1", 9092),)),
        ("broker", (("broker", 9092),)),
        ("a:1, b:2,", (("a", 1), ("b", 2))),
        ("[::1]:19092", (("::1", 19092),)),
        ("[::1]", (("::1", 9092),)),
    ],
)
def test_bootstrap_addresses(text: str, addresses: tuple[tuple[str, int], ...]) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize("text", ["", ",", ":9092", "host:abc", "host:0", "host:70000", "host:-1", "a:1:2"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"host.*:port"):
        parse_addresses(text)


def test_a_value_may_hold_equals_signs_and_may_be_empty() -> None:
    assert parse_key_value("sasl=a=b") == ("sasl", "a=b")
    assert parse_key_value("rack=") == ("rack", "")


@pytest.mark.parametrize("text", ["novalue", "=1", ""])
def test_what_is_no_key_value_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="key=value"):
        parse_key_value(text)
