import errno
from pathlib import Path

import pytest
from click.testing import CliRunner

from inkless.cli.app import inkless
from inkless.cli.serve import banner, data_place, describe_os_error
from inkless.settings import Settings, load_settings


def settings_of(**overrides: str) -> Settings:
    return load_settings(None, {key.replace("_", "."): value for key, value in overrides.items()}).settings


def test_the_banner_says_where_and_what_next() -> None:
    text = banner("127.0.0.1:9092", cluster_id="abc", data="inkless-data")
    assert text.startswith("inkless is ready on 127.0.0.1:9092\n")
    assert "cluster  abc" in text
    assert "data     inkless-data" in text
    assert "inkless produce greetings" in text


def test_the_next_step_names_the_address_when_it_is_not_the_default() -> None:
    assert "inkless produce -b 127.0.0.1:1234 greetings" in banner("127.0.0.1:1234", cluster_id="", data="")


def test_the_place_of_the_data_is_the_store_when_that_is_no_folder() -> None:
    assert data_place(settings_of(inkless_data_dir="/somewhere/else")) == "/somewhere/else"
    assert data_place(settings_of(inkless_storage_url="s3://bucket/prefix")) == "s3://bucket/prefix"


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(errno.EADDRINUSE, "in use"), "-o listeners=PLAINTEXT://127.0.0.1:9093"),
        (OSError(errno.EADDRNOTAVAIL, "not available"), "127.0.0.1 is not an address of this machine"),
        (OSError(errno.EACCES, "denied"), "ports below 1024"),
        (OSError(errno.EACCES, "denied", "/data"), "cannot write to /data (denied)"),
        (OSError(errno.EIO, "broken"), "broken"),
    ],
)
def test_what_the_machine_refuses_comes_with_a_way_around(error: OSError, advice: str) -> None:
    assert advice in describe_os_error(error, settings_of())


def test_a_bad_value_is_one_line_with_exit_code_2() -> None:
    result = CliRunner().invoke(inkless, ["serve", "-o", "node.id=first"])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert "node.id" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_config_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    result = CliRunner().invoke(inkless, ["serve", "-c", str(tmp_path / "none.properties")])
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
