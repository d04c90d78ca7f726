"""Every backend of the control plane, each a parameter of the same fixture."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from inkless.clock import SystemEntropy
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from support.coordinator_commits import HandClock
from support.postgres import PostgresServer


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def control_plane_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of its own for each test."""
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/control-plane.db"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.fresh_database() as url:
        yield url


@pytest.fixture
async def control_plane(control_plane_url: str, clock: HandClock) -> AsyncIterator[ControlPlane]:
    plane = await open_control_plane(control_plane_url, clock=clock, entropy=SystemEntropy())
    yield plane
    await plane.close()
