"""InitProducerId: an id for a producer that wants no duplicates."""

from inkless.coordinator.types import NO_PRODUCER_ID
from inkless.errors import InklessError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import InitProducerIdRequest, InitProducerIdResponse
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.failures import failure_of

_NO_EPOCH = -1


async def handle_init_producer_id(
    broker: BrokerContext, _: Exchange, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    """A new id with epoch 0, always.

    The id and the epoch that a request may bring are those of a transactional producer (KIP-360). One without
    transactions raises its epoch by itself and comes back for a new id; Kafka too gives it one whatever it
    brings, since nothing shows that the id it names is its own.
    """
    refusal = _refusal(request)
    if refusal is not None:
        return InitProducerIdResponse(error_code=refusal, producer_epoch=_NO_EPOCH)
    try:
        producer_id = await broker.producer_ids.next()
    except InklessError as error:
        # As Kafka's brokers say it while they have no block of ids; every client tries again.
        failure = failure_of(error, when_unavailable=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return InitProducerIdResponse(error_code=failure.code, producer_epoch=_NO_EPOCH)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _refusal(request: InitProducerIdRequest) -> ErrorCode | None:
    if request.transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is not None:
        # Transactions are not supported. Of the codes that say so more plainly, UNSUPPORTED_VERSION above
        # all, librdkafka takes none as final: it would ask again every half second, for ever. This one is
        # final for it and for the Java client, and names the setting that must go.
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == _NO_EPOCH):
        return ErrorCode.INVALID_REQUEST
    return None
