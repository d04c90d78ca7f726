"""The `inkless` command: a broker to run, and the tools to look at one and to talk to it.

`app` holds the table of commands and loads the module of a command only when that command is called, so that
`inkless --help` stays quick. One module per command family; what several of them need lives beside them:
`options` (what a flag means), `session` (a coroutine run to its end, errors turned into one line), `tables`
and `record_format` (how answers are printed), `latency` (percentiles in bounded memory). `cluster` runs
brokers as processes: `cluster_plan` says which, `child_broker` is one, `child_supervision` watches over all.

Invariants: answers go to stdout and everything else (progress, banners, errors) to stderr, so that output can
be piped; an error is one line that says what is wrong and what to do next. Exit codes: 0 done, 1 failed,
2 wrong usage or configuration. Nothing here retries: the client does, within its deadlines.
"""


def main() -> None:
    """Entry point of the console script."""
    from inkless.cli.app import inkless

    inkless(prog_name="inkless")
