"""Servers that property tests share."""

from support.postgres import postgres_server

__all__ = ["postgres_server"]
