"""Servers that contract suites share."""

from support.postgres import postgres_server
from support.seaweedfs import s3_server

__all__ = ["postgres_server", "s3_server"]
