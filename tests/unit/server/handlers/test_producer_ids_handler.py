"""InitProducerId: always a new id, never a transactional one."""

import pytest

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import InitProducerIdRequest
from support.handler_broker import HandlerBroker


@pytest.mark.parametrize("version", range(6))
async def test_every_producer_gets_an_id_of_its_own(broker: HandlerBroker, version: int) -> None:
    first = await broker.ask(InitProducerIdRequest(), version=version)
    second = await broker.ask(InitProducerIdRequest(), version=version)
    assert (first.error_code, first.producer_epoch) == (ErrorCode.NONE, 0)
    assert first.producer_id >= 0
    assert second.producer_id != first.producer_id


async def test_an_id_that_a_client_brings_is_not_trusted(broker: HandlerBroker) -> None:
    response = await broker.ask(InitProducerIdRequest(producer_id=4711, producer_epoch=3))
    assert (response.error_code, response.producer_epoch) == (ErrorCode.NONE, 0)
    assert response.producer_id != 4711


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 5)])
async def test_an_id_without_epoch_or_the_reverse_is_refused(
    broker: HandlerBroker, producer_id: int, epoch: int
) -> None:
    response = await broker.ask(InitProducerIdRequest(producer_id=producer_id, producer_epoch=epoch))
    assert (response.error_code, response.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


async def test_a_transactional_producer_is_refused_for_good(broker: HandlerBroker) -> None:
    response = await broker.ask(InitProducerIdRequest(transactional_id="payments"))
    assert response.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert response.producer_id == -1
    assert not ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.is_retriable


async def test_an_empty_transactional_id_is_refused(broker: HandlerBroker) -> None:
    response = await broker.ask(InitProducerIdRequest(transactional_id=""))
    assert response.error_code == ErrorCode.INVALID_REQUEST


async def test_without_a_database_a_producer_is_asked_to_come_again(broker: HandlerBroker) -> None:
    broker.parts.link.is_down = True
    response = await broker.ask(InitProducerIdRequest())
    assert (response.error_code, response.producer_id) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1)
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.is_retriable
