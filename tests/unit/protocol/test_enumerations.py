"""The protocol's two enumerations, against those of other libraries."""

import importlib
import warnings

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.error_codes import ErrorCode


@pytest.mark.parametrize("theirs", KioErrorCode, ids=lambda code: code.name)
def test_error_codes_are_those_of_kio(theirs: KioErrorCode) -> None:
    ours = ErrorCode(theirs.value)
    assert ours.name == theirs.name.upper()
    assert ours.is_retriable == theirs.retriable


def test_there_are_no_error_codes_of_our_own() -> None:
    assert len(ErrorCode) == len(KioErrorCode)


def test_api_keys_are_those_of_kafka_python() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        theirs = importlib.import_module("kafka.protocol.api_key").ApiKey
    assert {key.name.replace("_", ""): key.value for key in ApiKey} == {
        key.name.upper(): key.value for key in theirs
    }
