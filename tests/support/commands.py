"""Programs of others that tests run: found or skipped, bounded in time, quiet unless they fail."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / ".tools"
"""Where what is downloaded or built stays from one run to the next."""


def command(name: str) -> str:
    """The path of a program; skips the test when the machine does not have it."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs the command {name}")
    return found


def run(
    arguments: Sequence[str | bytes | Path],
    *,
    given: str | bytes = b"",
    seconds_max: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> bytes:
    """What the program writes; an AssertionError with the end of its complaints when it fails."""
    done = subprocess.run(
        arguments,
        input=given.encode() if isinstance(given, str) else given,
        capture_output=True,
        timeout=seconds_max,
        env={**os.environ, **(environment or {})},
        cwd=folder,
        check=False,
    )
    if done.returncode:
        # Some report their failures on one, some on the other.
        tail = (done.stdout[-1000:] + done.stderr[-3000:]).decode(errors="replace")
        raise AssertionError(f"{arguments[0]!r} ended with {done.returncode}\n{tail}")
    return done.stdout


def build_once(
    name: str, sources: Sequence[Path], *, build: Sequence[str | Path], seconds_max: float
) -> Path:
    """The folder of a build that is made again only when its sources change.

    The command finds copies of the sources in the folder it runs in. Skips the test when it fails, since
    then the registry that it downloads from cannot be reached.
    """
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    built = TOOLS / f"{name}-{digest}"
    if built.exists():
        return built
    unfinished = TOOLS / f"{name}-{digest}.{os.getpid()}"
    unfinished.mkdir(parents=True)
    for source in sources:
        shutil.copy(source, unfinished)
    try:
        run(build, seconds_max=seconds_max, folder=unfinished)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        pytest.skip(f"cannot build {name}: {str(error)[-400:]}")
    if built.exists():
        shutil.rmtree(unfinished)
    else:
        unfinished.rename(built)
    return built
