"""Servers that contract suites share."""

from support.seaweedfs import s3_server

__all__ = ["s3_server"]
