"""From the operations of IncrementalAlterConfigs to the values a topic is to have (KIP-339). Pure."""

from collections.abc import Iterable, Mapping
from enum import IntEnum

from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import IncrementalAlterableConfig
from inkless.settings.kinds import ConfigType
from inkless.settings.topic_table import TOPIC_CONFIGS
from inkless.settings.topics import TopicDefaults


class Operation(IntEnum):
    """What to do with a config."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def changes_of(
    edits: Iterable[IncrementalAlterableConfig], *, own: Mapping[str, str], defaults: TopicDefaults
) -> dict[str, str | None]:
    """The value each edited config is to have, None where it is to be removed. No config is edited twice.

    RequestError INVALID_REQUEST for an edit that makes no sense, INVALID_CONFIG for a list operation on what
    is no list. The values themselves are not judged here.
    """
    return {edit.name: _changed(edit, own, defaults) for edit in edits}


def _changed(edit: IncrementalAlterableConfig, own: Mapping[str, str], defaults: TopicDefaults) -> str | None:
    if edit.config_operation == Operation.DELETE:
        return None
    if edit.value is None:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for: {edit.name}")
    if edit.config_operation == Operation.SET:
        return edit.value
    if edit.config_operation not in (Operation.APPEND, Operation.SUBTRACT):
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"Unknown operation {edit.config_operation} for: {edit.name}"
        )
    present = _items(_current_list(edit.name, own, defaults))
    named = _items(edit.value)
    if edit.config_operation == Operation.APPEND:
        return ",".join(dict.fromkeys([*present, *named]))
    return ",".join(item for item in present if item not in named)


def _current_list(name: str, own: Mapping[str, str], defaults: TopicDefaults) -> str:
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        raise RequestError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    if config.kind.config_type is not ConfigType.LIST:
        raise RequestError(
            ErrorCode.INVALID_CONFIG, f"Config {name} is not a list to append to or subtract from"
        )
    return own.get(name) or config.kind.render(defaults.value(name))


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
