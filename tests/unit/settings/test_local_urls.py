from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.errors import ConfigurationError
from inkless.settings.urls import local_path, local_url

_NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: name not in {".", ".."}
)


@given(st.lists(_NAMES, min_size=1))
def test_any_absolute_path_survives_as_a_url(names: list[str]) -> None:
    path = Path("/").joinpath(*names)
    assert local_path(local_url("sqlite", path)) == path


def test_three_and_four_slashes_mean_the_same_file() -> None:
    assert local_path("sqlite:////a/b.db") == local_path("sqlite:///a/b.db") == Path("/a/b.db")


@pytest.mark.parametrize("url", ["sqlite://a/b.db", "sqlite://", "file:///", "file://[a"])
def test_url_without_an_absolute_path_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        local_path(url)
