"""Where a partition's leader is, as Produce and Fetch tell a client that asked the wrong broker (KIP-951)."""

from inkless.protocol.schema import struct
from inkless.protocol.wire_types import Int32, String


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@struct
class NodeEndpoint:
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = None
