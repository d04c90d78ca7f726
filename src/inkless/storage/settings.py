"""What an operator can choose about object storage; declared with all other settings."""

from inkless.settings.storage import StorageSettings

__all__ = ["StorageSettings"]
