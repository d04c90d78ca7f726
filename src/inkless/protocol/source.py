"""Python source in the making: lines, fresh names, and the objects that the lines refer to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class FunctionSource:
    """One function that is written line by line and then compiled.

    Only names of our own making are put together to source; what comes from the wire never is.
    """

    def __init__(self, signature: str) -> None:
        self._lines = [f"def {signature}:"]
        self._depth = 1
        self._names = 0
        self._namespace: dict[str, Any] = {}

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The lines added inside belong to the statement `head`."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """A name that no other variable of the function has."""
        self._names += 1
        return f"{stem}_{self._names}"

    def constant(self, name: str, value: Any) -> str:
        """A name under which the function sees `value`; the underscore keeps it apart from variables."""
        for suffix in range(len(self._namespace) + 1):
            candidate = f"_{name}_{suffix}"
            if self._namespace.setdefault(candidate, value) is value:
                return candidate
        raise AssertionError("one of so many names is free")

    def literal(self, value: Any) -> str:
        """An expression for a default of the tables."""
        if value is None or isinstance(value, bool | int | str):
            return repr(value)
        return "[]" if value == () else self.constant("default", value)

    def compile(self, name: str, description: str) -> Callable[..., Any]:
        """The function; `description` is what a traceback gives as its file."""
        code = compile("\n".join(self._lines) + "\n", f"<{description}>", "exec")
        exec(code, self._namespace)  # noqa: S102 - the source is made of our own tables
        function: Callable[..., Any] = self._namespace[name]
        return function
