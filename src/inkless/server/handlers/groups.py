"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: being a member of a group."""

from inkless.errors import InklessError, RequestError
from inkless.groups.effects import JoinAnswer, SyncAnswer
from inkless.groups.events import JoinRequest, MemberIdentity, ProtocolOffer, SyncRequest
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from inkless.protocol.messages import MemberIdentity as LeavingMember
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.failures import failure_of

_KNOWN_MEMBER_ID_SINCE = 4
_NULL_PROTOCOL_SINCE = 7
_SKIP_ASSIGNMENT_SINCE = 9
_PROTOCOL_IN_SYNC_SINCE = 5
_LEAVING_TOGETHER_SINCE = 3


async def handle_join_group(
    broker: BrokerContext, exchange: Exchange, request: JoinGroupRequest
) -> JoinGroupResponse:
    """Answered when the next generation begins."""
    try:
        _require_group_id(request.group_id)
        _check_session_timeout(broker, request.session_timeout_ms)
        answer = await broker.groups.join(request.group_id, _join_request(broker, exchange, request))
    except InklessError as error:
        answer = JoinAnswer(group_failure(error), request.member_id)
    no_protocol = None if exchange.version >= _NULL_PROTOCOL_SINCE else ""
    return JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=no_protocol if answer.protocol_name is None else answer.protocol_name,
        leader=answer.leader_id,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata
            )
            for member in answer.members
        ],
    )


async def handle_sync_group(
    broker: BrokerContext, exchange: Exchange, request: SyncGroupRequest
) -> SyncGroupResponse:
    """Answered when the leader has assigned."""
    try:
        _require_group_id(request.group_id)
        if exchange.version >= _PROTOCOL_IN_SYNC_SINCE and None in (
            request.protocol_type,
            request.protocol_name,
        ):
            raise RequestError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        answer = await broker.groups.sync(
            request.group_id,
            SyncRequest(
                member=MemberIdentity(request.member_id, request.group_instance_id),
                generation=request.generation_id,
                assignments={each.member_id: each.assignment for each in request.assignments},
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
            ),
        )
    except InklessError as error:
        answer = SyncAnswer(group_failure(error))
    return SyncGroupResponse(
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        assignment=answer.assignment,
    )


async def handle_heartbeat(
    broker: BrokerContext, _: Exchange, request: HeartbeatRequest
) -> HeartbeatResponse:
    """Tells a living member whether to join again."""
    try:
        _require_group_id(request.group_id)
        identity = MemberIdentity(request.member_id, request.group_instance_id)
        code = broker.groups.heartbeat(request.group_id, identity, request.generation_id)
    except InklessError as error:
        code = group_failure(error)
    return HeartbeatResponse(error_code=code)


async def handle_leave_group(
    broker: BrokerContext, exchange: Exchange, request: LeaveGroupRequest
) -> LeaveGroupResponse:
    """One member, or since version 3 several, of which each has its own answer."""
    leaves_together = exchange.version >= _LEAVING_TOGETHER_SINCE
    leaving = request.members if leaves_together else [LeavingMember(member_id=request.member_id)]
    try:
        _require_group_id(request.group_id)
        codes = broker.groups.leave(
            request.group_id, [MemberIdentity(each.member_id, each.group_instance_id) for each in leaving]
        )
    except InklessError as error:
        return LeaveGroupResponse(error_code=group_failure(error))
    if not leaves_together:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        members=[
            MemberResponse(
                member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code
            )
            for each, code in zip(leaving, codes, strict=True)
        ]
    )


def group_failure(error: InklessError) -> ErrorCode:
    """While the database does not answer, the coordinator is as one that still loads: all clients wait and
    ask it again."""
    return failure_of(error, when_unavailable=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS).code


def _require_group_id(group_id: str) -> None:
    if not group_id:
        raise RequestError(ErrorCode.INVALID_GROUP_ID)


def _check_session_timeout(broker: BrokerContext, session_timeout_ms: int) -> None:
    settings = broker.settings.groups
    if not settings.session_timeout_min_ms <= session_timeout_ms <= settings.session_timeout_max_ms:
        raise RequestError(ErrorCode.INVALID_SESSION_TIMEOUT)


def _join_request(broker: BrokerContext, exchange: Exchange, request: JoinGroupRequest) -> JoinRequest:
    client_id = exchange.client_id or ""
    return JoinRequest(
        member=MemberIdentity(request.member_id, request.group_instance_id),
        fresh_member_id=_fresh_member_id(broker, request.group_instance_id or client_id),
        client_id=client_id,
        # Tools expect the slash with which Java prints addresses.
        client_host=f"/{exchange.client_host}",
        session_timeout_ms=request.session_timeout_ms,
        # Clients of version 0 give none.
        rebalance_timeout_ms=(
            request.rebalance_timeout_ms if request.rebalance_timeout_ms > 0 else request.session_timeout_ms
        ),
        protocol_type=request.protocol_type,
        protocols=tuple(ProtocolOffer(each.name, each.metadata) for each in request.protocols),
        needs_known_id=exchange.version >= _KNOWN_MEMBER_ID_SINCE,
        can_skip_assignment=exchange.version >= _SKIP_ASSIGNMENT_SINCE,
    )


def _fresh_member_id(broker: BrokerContext, stem: str) -> str:
    digits = broker.entropy.new_id().hex()
    uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return f"{stem}-{uuid}"
