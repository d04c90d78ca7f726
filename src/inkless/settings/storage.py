"""Settings of object storage: where it is, how hard we try, what credentials it takes."""

from dataclasses import dataclass

from inkless.settings.keys import setting
from inkless.settings.kinds import (
    ConfigType,
    OptionalText,
    Switch,
    Text,
    Whole,
    milliseconds,
)

_SECRET = OptionalText("text, or nothing", ConfigType.PASSWORD)


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Where objects live and how patiently they are asked for.

    S3 fields that are None are taken from the environment, the way every S3 client does.
    """

    url: str = setting(
        "inkless.storage.url",
        "",
        Text("file:///path, s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or memory://"),
        "Where objects are kept.",
        derived="file://<inkless.data.dir>/objects",
    )
    fsync: bool = setting(
        "inkless.storage.file.fsync",
        True,
        Switch(),
        "Whether an object in a local folder is forced to disk before it counts as written.",
    )
    threads_max: int = setting(
        "inkless.storage.file.threads",
        8,
        Whole(1, 256),
        "Threads that read and write a local folder.",
    )
    request_timeout_ms: int = setting(
        "inkless.storage.request.timeout.ms",
        10_000,
        milliseconds(1),
        "One request to a remote store is given up after this long.",
    )
    retries_max: int = setting(
        "inkless.storage.retries",
        4,
        Whole(0, 100),
        "How often a failed request to the store is sent again.",
    )
    retry_budget_ms: int = setting(
        "inkless.storage.retry.budget.ms",
        20_000,
        milliseconds(0),
        "No request is sent again once this long has passed since its first try.",
    )
    hedge_after_ms: int = setting(
        "inkless.storage.hedge.after.ms",
        0,
        milliseconds(0, 60_000),
        "A read that has not been answered after this long is sent a second time and the first answer is "
        "taken; 0 never does.",
    )
    s3_endpoint: str | None = setting(
        "inkless.storage.s3.endpoint.url",
        None,
        OptionalText("http://host:port or https://host:port, or nothing"),
        "The address of an S3-compatible store other than AWS.",
    )
    s3_region: str | None = setting(
        "inkless.storage.s3.region",
        None,
        OptionalText("the name of a region, or nothing"),
        "The region of the S3 bucket.",
        derived="from the environment",
    )
    s3_access_key: str | None = setting(
        "inkless.storage.s3.access.key.id",
        None,
        _SECRET,
        "The access key of S3.",
        aliases=("inkless.storage.aws.access.key.id",),
        derived="from the environment or the machine's role",
        sensitive=True,
    )
    s3_secret_key: str | None = setting(
        "inkless.storage.s3.secret.access.key",
        None,
        _SECRET,
        "The secret of the access key.",
        aliases=("inkless.storage.aws.secret.access.key",),
        derived="from the environment or the machine's role",
        sensitive=True,
    )
    s3_path_style: bool = setting(
        "inkless.storage.s3.path.style.access.enabled",
        False,
        Switch(),
        "Whether the bucket stands in the path of a request and not in its host name.",
    )
    s3_allow_http: bool = setting(
        "inkless.storage.s3.allow.http",
        False,
        Switch(),
        "Whether the endpoint may be reached without TLS.",
        derived="true where the endpoint begins with http://",
    )
    s3_unsigned_payload: bool = setting(
        "inkless.storage.s3.unsigned.payload",
        False,
        Switch(),
        "Whether uploads over TLS go unsigned, which costs a third of the processor time; TLS protects them.",
    )
