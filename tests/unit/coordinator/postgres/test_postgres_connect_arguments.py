"""Who connects: the URL's user, or else the configured one."""

import pytest

from inkless.coordinator.postgres.connections import connect_arguments
from inkless.coordinator.postgres.settings import PostgresSettings


@pytest.mark.parametrize(
    ("url", "user", "password"),
    [
        ("postgresql://h/d", "configured", "secret"),
        ("postgresql://u@h/d", None, "secret"),
        ("postgresql://u:p@h/d", None, None),
        ("postgresql://h/d?user=u&password=p", None, None),
    ],
)
def test_name_and_password_count_where_the_url_has_none(
    url: str, user: str | None, password: str | None
) -> None:
    arguments = connect_arguments(PostgresSettings(url, username="configured", password="secret"))
    assert (arguments["dsn"], arguments["user"], arguments["password"]) == (url, user, password)
