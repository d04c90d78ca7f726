"""How answers are printed: aligned columns for people, JSON for programs."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

Cell = str | int | float | None


def format_table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Columns two blanks apart under an upper-case header; columns of numbers are set to the right.

    A missing value is a dash, so that every line has as many words as the header and `awk` can count on it.
    """
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [max(len(name), *(len(row[i]) for row in texts), 0) for i, name in enumerate(header)]
    right = [_holds_numbers([row[i] for row in rows]) for i in range(len(header))]
    lines = [[name.upper() for name in header], *texts]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def format_fields(fields: Sequence[tuple[str, Cell]]) -> str:
    """One `name: value` per line, values under each other."""
    width = max((len(name) for name, _ in fields), default=0) + 1
    return "\n".join(f"{name + ':':<{width}}  {_text(value)}" for name, value in fields)


def print_json(answer: Any) -> None:
    """Indented on a terminal, where a person looks at it; one line everywhere else."""
    indent = 2 if sys.stdout.isatty() else None
    click.echo(json.dumps(answer, indent=indent, ensure_ascii=False))


def format_count(count: int, noun: str) -> str:
    """`1 record`, `2 records`; thousands apart."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _holds_numbers(column: Sequence[Cell]) -> bool:
    values = [cell for cell in column if cell is not None]
    return bool(values) and all(isinstance(cell, int | float) for cell in values)


def _text(cell: Cell) -> str:
    if cell is None or cell == "":
        return "-"
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)
