"""The older, many-keyed way to name storage and control plane: Java class names and one key per detail.

They are turned into the one-line URLs that everything else reads, and are only looked at where the URL
itself is not set.
"""

from dataclasses import dataclass
from pathlib import Path

from inkless.errors import ConfigurationError
from inkless.settings.keys import setting
from inkless.settings.kinds import ConfigType, OptionalText
from inkless.settings.urls import local_url

_STORAGE_CLASSES = ("S3Storage", "GcsStorage", "AzureBlobStorage", "FileSystemStorage", "InMemoryStorage")
_CONTROL_PLANE_CLASSES = ("PostgresControlPlane", "InMemoryControlPlane")


@dataclass(frozen=True, slots=True)
class BackendNames:
    """Backends by class name, and the details their URLs are made of."""

    storage_class: str | None = setting(
        "inkless.storage.backend.class",
        None,
        OptionalText(", ".join(_STORAGE_CLASSES), ConfigType.CLASS),
        "The storage backend by its Java class name, with or without its package, where there is no URL.",
    )
    s3_bucket: str | None = setting(
        "inkless.storage.s3.bucket.name", None, OptionalText(), "The bucket, for S3Storage."
    )
    gcs_bucket: str | None = setting(
        "inkless.storage.gcs.bucket.name", None, OptionalText(), "The bucket, for GcsStorage."
    )
    azure_container: str | None = setting(
        "inkless.storage.azure.container.name", None, OptionalText(), "The container, for AzureBlobStorage."
    )
    key_prefix: str | None = setting(
        "inkless.object.key.prefix",
        None,
        OptionalText(),
        "What the keys of all objects begin with, where there is a class name and no URL.",
    )
    control_plane_class: str | None = setting(
        "inkless.control.plane.class",
        None,
        OptionalText(", ".join(_CONTROL_PLANE_CLASSES), ConfigType.CLASS),
        "The control plane by its Java class name, with or without its package, where there is no URL. "
        "InMemoryControlPlane is the embedded one.",
    )

    def storage_url(self, data_dir: Path) -> str:
        """The URL of the store that these names mean; a folder of the data directory where they name none."""
        prefix = "/" + self.key_prefix.strip("/") if self.key_prefix else ""
        match _simple_name(self.storage_class):
            case "S3Storage":
                return f"s3://{_needed(self.s3_bucket, 'inkless.storage.s3.bucket.name')}{prefix}"
            case "GcsStorage":
                return f"gs://{_needed(self.gcs_bucket, 'inkless.storage.gcs.bucket.name')}{prefix}"
            case "AzureBlobStorage":
                return f"az://{_needed(self.azure_container, 'inkless.storage.azure.container.name')}{prefix}"
            case "InMemoryStorage":
                return "memory://"
            case "FileSystemStorage":
                return local_url("file", data_dir / "objects")
            case None:
                self._refuse_bucket_without_class()
                return local_url("file", data_dir / "objects")
            case _:
                raise _unknown("inkless.storage.backend.class", self.storage_class, _STORAGE_CLASSES)

    def control_plane_url(self, data_dir: Path) -> str:
        """The URL of the control plane that the class name means where no URL and no connection string is
        set."""
        match _simple_name(self.control_plane_class):
            case "PostgresControlPlane":
                return _needed(None, "inkless.control.plane.connection.string")
            case "InMemoryControlPlane" | None:
                return local_url("sqlite", data_dir / "control-plane.db")
            case _:
                raise _unknown(
                    "inkless.control.plane.class", self.control_plane_class, _CONTROL_PLANE_CLASSES
                )

    def _refuse_bucket_without_class(self) -> None:
        # Falling back to a local folder would look like success to somebody who named a bucket.
        if self.s3_bucket or self.gcs_bucket or self.azure_container:
            raise ConfigurationError(
                "a bucket or container is named, but neither inkless.storage.backend.class nor "
                "inkless.storage.url is set"
            )


def _simple_name(class_name: str | None) -> str | None:
    return class_name.rpartition(".")[2] if class_name else None


def _needed(value: str | None, key: str) -> str:
    if not value:
        raise ConfigurationError(f"{key}: is not set, but the class that is named needs it")
    return value


def _unknown(key: str, value: str | None, allowed: tuple[str, ...]) -> ConfigurationError:
    return ConfigurationError(f"{key}: {value!r} is not allowed; allowed is one of {', '.join(allowed)}")
