"""Left-overs of dead processes go, those of living ones stay."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from inkless.storage.files import ObjectFiles
from inkless.storage.incoming import INCOMING, IncomingFolder

OBJECT_BYTES = 300_000

WRITER = f"""
import sys
from pathlib import Path
from inkless.storage.files import ObjectFiles

files = ObjectFiles(Path(sys.argv[1]), fsync=False)
number = 0
while True:
    data = number.to_bytes(4) * ({OBJECT_BYTES} // 4)
    files.write("wal/%02x/%d" % (number % 16, number), [data[:1000], data[1000:]])
    number += 1
    print(number, flush=True)
"""


def drafts(root: Path) -> list[Path]:
    return [path for path in (root / INCOMING).rglob("*") if path.is_file()]


def test_a_living_store_keeps_its_drafts_when_another_opens(tmp_path: Path) -> None:
    first = IncomingFolder(tmp_path)
    draft = Path(first.next_path())
    draft.write_bytes(b"half")
    second = IncomingFolder(tmp_path)
    assert draft.read_bytes() == b"half"
    assert Path(second.next_path()).parent != draft.parent
    second.close()
    assert draft.exists()
    first.close()
    assert drafts(tmp_path) == []


def test_drafts_of_a_store_that_is_gone_are_removed(tmp_path: Path) -> None:
    left = tmp_path / INCOMING / "dead"
    left.mkdir(parents=True)
    (left / "0").write_bytes(b"half")
    folder = IncomingFolder(tmp_path)
    assert not left.exists()
    folder.close()


def test_a_stray_file_among_the_drafts_hinders_nobody(tmp_path: Path) -> None:
    (tmp_path / INCOMING).mkdir()
    stray = tmp_path / INCOMING / "stray"
    stray.write_bytes(b"?")
    IncomingFolder(tmp_path).close()
    assert stray.exists()


def test_after_a_kill_every_visible_object_is_whole(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, env=os.environ | _python_path()
    ) as writer:
        assert writer.stdout is not None
        for _ in range(40):
            assert writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        writer.wait()

    store = ObjectFiles(tmp_path, fsync=False)
    found = list(store.walk(""))
    assert len(found) >= 40
    for meta in found:
        number = int(meta.key.rpartition("/")[2])
        assert store.read(meta.key, 0, None) == number.to_bytes(4) * (OBJECT_BYTES // 4)
    assert drafts(tmp_path) == []
    store.close()


def _python_path() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(sys.path)}
