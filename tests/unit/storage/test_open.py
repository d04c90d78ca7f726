"""From a storage URL to a store, and what is said about a wrong one."""

import subprocess
import sys
from pathlib import Path

import pytest

from inkless.clock import SystemClock
from inkless.errors import ConfigurationError
from inkless.storage.hedging import HedgedStore
from inkless.storage.meter import MeteredStore, StoreMeter, Verb
from inkless.storage.open import open_store
from inkless.storage.settings import StorageSettings


async def test_a_folder_is_made_where_there_is_none(tmp_path: Path) -> None:
    store = open_store(StorageSettings(url=f"file://{tmp_path}/with%20space/objects"), SystemClock())
    await store.put("x", [b"1"])
    await store.close()
    assert (tmp_path / "with space" / "objects" / "x").read_bytes() == b"1"


async def test_what_is_asked_is_counted_in_the_meter_handed_in() -> None:
    meter = StoreMeter()
    store = open_store(StorageSettings(url="memory://"), SystemClock(), meter)
    await store.put("x", [b"abc"])
    assert meter.by_verb[Verb.PUT].byte_count == 3


@pytest.mark.parametrize(
    "url", ["s3://bucket/a/prefix", "s3://bucket", "gs://bucket/prefix", "az://container/x"]
)
def test_a_remote_store_is_opened_without_asking_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    assert isinstance(open_store(StorageSettings(url=url), SystemClock()), MeteredStore)


def test_reads_of_a_remote_store_are_hedged_when_that_is_set() -> None:
    store = open_store(StorageSettings(url="s3://bucket/x", hedge_after_ms=50), SystemClock())
    assert isinstance(store, HedgedStore)


@pytest.mark.parametrize(
    "url",
    [
        *("", "objects", "/objects", "ftp://host/x", "file://", "file:///", "file://host/x", "file:relative"),
        *(
            "memory://x",
            "memory:///x",
            "s3://",
            "s3:///x",
            "s3://bucket/../x",
            "s3://bucket/x?y=1",
            "s3://[x",
        ),
    ],
)
def test_a_wrong_url_is_refused_by_key_value_and_what_is_allowed(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        open_store(StorageSettings(url=url), SystemClock())
    message = str(refused.value)
    assert f"inkless.storage.url={url}:" in message
    assert "s3://bucket/prefix" in message


def test_a_missing_account_names_the_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match=r"inkless\.storage\.url=az://container/x"):
        open_store(StorageSettings(url="az://container/x"), SystemClock())


def test_the_remote_library_is_not_loaded_for_a_local_store() -> None:
    code = "import sys, inkless.storage.open; sys.exit('obstore' in sys.modules)"
    path = [entry for entry in sys.path if entry]
    subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {code}"], check=True)
