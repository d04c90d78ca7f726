"""Every backend of the control plane, each a parameter of the same fixture."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inkless.clock import SystemEntropy
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from support.coordinator_commits import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["sqlite"])
def control_plane_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of its own for each test."""
    assert request.param == "sqlite"
    return f"sqlite://{tmp_path}/control-plane.db"


@pytest.fixture
async def control_plane(control_plane_url: str, clock: HandClock) -> AsyncIterator[ControlPlane]:
    plane = await open_control_plane(control_plane_url, clock=clock, entropy=SystemEntropy())
    yield plane
    await plane.close()
