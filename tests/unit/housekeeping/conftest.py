from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inkless.settings import HousekeepingSettings
from support.housekeeping_parts import House, a_house


@pytest.fixture
def settings() -> HousekeepingSettings:
    return HousekeepingSettings(
        retention_partitions_max=2, cleaner_grace_ms=1_000, cleaner_objects_max=4, orphan_age_ms=60_000
    )


@pytest.fixture
async def house(tmp_path: Path, settings: HousekeepingSettings) -> AsyncIterator[House]:
    async with a_house(tmp_path, settings) as house:
        yield house
