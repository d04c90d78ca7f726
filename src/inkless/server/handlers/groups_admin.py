"""ListGroups, DescribeGroups and DeleteGroups: groups as tools see them."""

from collections.abc import Mapping

from inkless.coordinator.types import StoredGroup
from inkless.errors import InklessError, RequestError
from inkless.groups.group import Group
from inkless.groups.phases import Phase
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from inkless.protocol.wire_types import INT32_MIN
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.groups import group_failure
from inkless.server.handlers.operations import GROUP_OPERATIONS

_GROUP_TYPE = "classic"
_NO_SUCH_GROUP_STATE = "Dead"
_NOT_FOUND_SINCE = 6


async def handle_list_groups(
    broker: BrokerContext, _: Exchange, request: ListGroupsRequest
) -> ListGroupsResponse:
    """The groups that this broker coordinates; tools ask every broker."""
    states = {state.lower() for state in request.states_filter}
    types = {group_type.lower() for group_type in request.types_filter}
    if types and _GROUP_TYPE not in types:
        return ListGroupsResponse()
    try:
        stored = await broker.control_plane.load_groups(None)
    except InklessError as error:
        return ListGroupsResponse(error_code=group_failure(error))
    listed = []
    for each in stored:
        if not broker.groups.is_coordinated_here(each.group_id):
            continue
        hosted = broker.groups.find(each.group_id)
        phase = Phase.EMPTY if hosted is None else hosted.group.phase
        if not states or phase.value.lower() in states:
            listed.append(
                ListedGroup(
                    group_id=each.group_id,
                    protocol_type=each.protocol_type if hosted is None else hosted.group.protocol_type,
                    group_state=phase.value,
                    group_type=_GROUP_TYPE,
                )
            )
    return ListGroupsResponse(groups=listed)


async def handle_describe_groups(
    broker: BrokerContext, exchange: Exchange, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    """A group that is unknown is described as dead, which is how clients before version 6 learn it."""
    try:
        stored = {each.group_id: each for each in await broker.control_plane.load_groups(request.groups)}
    except InklessError as error:
        code = group_failure(error)
        return DescribeGroupsResponse(
            groups=[DescribedGroup(group_id=group_id, error_code=code) for group_id in request.groups]
        )
    operations = GROUP_OPERATIONS if request.include_authorized_operations else INT32_MIN
    return DescribeGroupsResponse(
        groups=[
            _describe(broker, group_id, stored, version=exchange.version, operations=operations)
            for group_id in request.groups
        ]
    )


async def handle_delete_groups(
    broker: BrokerContext, _: Exchange, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    """With their offsets; only groups without members."""
    names = dict.fromkeys(request.groups_names)
    return DeleteGroupsResponse(results=[await _delete(broker, group_id) for group_id in names])


def _describe(
    broker: BrokerContext,
    group_id: str,
    stored: Mapping[str, StoredGroup],
    *,
    version: int,
    operations: int,
) -> DescribedGroup:
    try:
        hosted = broker.groups.find(group_id)
    except RequestError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    if hosted is not None:
        return _described(group_id, hosted.group, operations)
    if group_id in stored:
        return DescribedGroup(
            group_id=group_id,
            group_state=Phase.EMPTY.value,
            protocol_type=stored[group_id].protocol_type,
            authorized_operations=operations,
        )
    is_error = version >= _NOT_FOUND_SINCE
    return DescribedGroup(
        group_id=group_id,
        error_code=ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE,
        error_message=f"Group {group_id} not found." if is_error else None,
        group_state=_NO_SUCH_GROUP_STATE,
        authorized_operations=operations,
    )


def _described(group_id: str, group: Group, operations: int) -> DescribedGroup:
    """Metadata and assignments mean something only in a stable generation."""
    protocol = (group.protocol_name or "") if group.phase is Phase.STABLE else ""
    return DescribedGroup(
        group_id=group_id,
        group_state=group.phase.value,
        protocol_type=group.protocol_type,
        protocol_data=protocol,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol) if protocol else b"",
                member_assignment=member.assignment if protocol else b"",
            )
            for member in group.members
        ],
        authorized_operations=operations,
    )


async def _delete(broker: BrokerContext, group_id: str) -> DeletableGroupResult:
    try:
        if not group_id:
            raise RequestError(ErrorCode.INVALID_GROUP_ID)
        await broker.groups.delete(group_id)
    except InklessError as error:
        return DeletableGroupResult(group_id=group_id, error_code=group_failure(error))
    return DeletableGroupResult(group_id=group_id)
