"""One broker with its defaults."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.handler_broker import HandlerBroker, handler_broker


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[HandlerBroker]:
    async with handler_broker(tmp_path) as made:
        yield made
