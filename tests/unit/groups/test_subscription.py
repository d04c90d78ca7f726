"""Reading the topics of a consumer's subscription."""

import pytest

from inkless.groups.subscription import subscribed_topics

# As the Java client writes it: version 1, two topics, no user data, no owned partitions.
SUBSCRIPTION = b"\x00\x01\x00\x00\x00\x02\x00\x06orders\x00\x05caf\xc3\xa9\xff\xff\xff\xff\x00\x00\x00\x00"


def test_topics_are_found() -> None:
    assert subscribed_topics(SUBSCRIPTION) == {"orders", "café"}


@pytest.mark.parametrize("length", range(len(SUBSCRIPTION)))
def test_half_a_subscription_gives_no_wrong_topic_but_the_cut_one(length: int) -> None:
    found = subscribed_topics(SUBSCRIPTION[:length])
    assert all("orders".startswith(topic) or "café".startswith(topic) for topic in found)


def test_bytes_that_lead_nowhere_end() -> None:
    assert subscribed_topics(b"\x00\x00\x7f\xff\xff\xff\xff\xfe") == set()
