"""Settings of the way to the Batch Coordinator and the cluster metadata."""

from dataclasses import dataclass

from inkless.settings.keys import setting
from inkless.settings.kinds import ConfigType, OptionalText, Text, milliseconds


@dataclass(frozen=True, slots=True)
class ControlPlaneSettings:
    """One control plane."""

    url: str = setting(
        "inkless.control.plane.url",
        "",
        Text("sqlite:///path/to/file.db, postgresql://user:password@host:port/database"),
        "Where the Batch Coordinator and the cluster metadata are; a broker refuses to start on any other "
        "kind of URL. SQLite is for the brokers of one machine, PostgreSQL (pip install inkless[postgres]) "
        "for any number; the form jdbc:postgresql://… is taken too.",
        aliases=("inkless.control.plane.connection.string",),
        derived="sqlite://<inkless.data.dir>/control-plane.db",
        # It may hold a password.
        sensitive=True,
    )
    username: str | None = setting(
        "inkless.control.plane.username",
        None,
        OptionalText("a name, or nothing"),
        "The user of the database, where the URL has none.",
    )
    password: str | None = setting(
        "inkless.control.plane.password",
        None,
        OptionalText("text, or nothing", ConfigType.PASSWORD),
        "The password of the database, where the URL has none.",
        sensitive=True,
    )
    deadline_ms: int = setting(
        "inkless.control.plane.deadline.ms",
        10_000,
        milliseconds(1),
        "A call to the control plane that has not been answered by then has failed.",
    )
