"""kafka-python, imported without the warnings that would be errors here."""

# The package has no types.
# mypy: disable-error-code="import-untyped"

import warnings

with warnings.catch_warnings():
    # It reads its message files through a deprecated function.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition, errors
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic, OffsetSpec

__all__ = [
    "ConfigResource",
    "ConfigResourceType",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "NewTopic",
    "OffsetSpec",
    "TopicPartition",
    "errors",
]
