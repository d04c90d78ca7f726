"""docs/protocol.md, written from the table of APIs: `python -m inkless.server.protocol_page > FILE`."""

import sys

from inkless.protocol.api_keys import ApiKey
from inkless.server.api_table import API_TABLE, ServedApi

_HEAD = """\
# Protocol

This page is generated from the table in `src/inkless/server/api_table.py` by `make docs`. ApiVersions answers
from the same table, so a client is told exactly what stands here.

Responses leave in the order of their requests. A request of an API or a version that is not served closes its
connection; only ApiVersions itself is answered in version 0 (KIP-511).

## Served

| Key | API | Versions | Handled in |
|---|---|---|---|
"""

_NOT_SERVED_HEAD = """\
## Not served

APIs of Kafka that a client or tool of this broker must do without, those between Kafka's own nodes included.

"""


def protocol_page() -> str:
    """The whole page."""
    served = "".join(_row(api) for api in API_TABLE.values())
    missing = [f"{_title(api_key)} ({api_key:d})" for api_key in ApiKey if api_key not in API_TABLE]
    return f"{_HEAD}{served}\n{_NOT_SERVED_HEAD}{', '.join(missing)}\n"


def _row(api: ServedApi) -> str:
    name = api.request_class.__name__.removesuffix("Request")
    module = api.handler.__module__.rpartition(".")[2]
    versions = f"{api.version_min} to {api.version_max}"
    handler = f"[`{module}`](../src/inkless/server/handlers/{module}.py)"
    return f"| {api.api_key:d} | {name} | {versions} | {handler} |\n"


def _title(api_key: ApiKey) -> str:
    return "".join(word.capitalize() for word in api_key.name.split("_"))


def main() -> None:
    sys.stdout.write(protocol_page())


if __name__ == "__main__":
    main()
