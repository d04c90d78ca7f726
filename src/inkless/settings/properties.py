"""The syntax of Java's .properties files.

A line continues on the next one when it ends in an odd number of backslashes; `#` and `!` begin a comment;
`=`, `:` or white space end the key; backslash escapes are \\t, \\n, \\r, \\f and \\uXXXX, any other escaped
character stands for itself.
"""

from collections.abc import Iterator

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values; of a key that comes twice the last one counts. ValueError names a malformed line."""
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        found[_unescape(key)] = _unescape(value)
    return found


def _natural_lines(text: str) -> Iterator[str]:
    # str.splitlines would also break at characters that Java takes as part of a line.
    yield from text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _logical_lines(text: str) -> Iterator[str]:
    pending: str | None = None
    for natural in _natural_lines(text):
        line = natural.lstrip(_BLANKS)
        if pending is None and (not line or line[0] in "#!"):
            continue
        joined = (pending or "") + line
        if _continues(line):
            pending = joined[:-1]
        else:
            pending = None
            yield joined
    if pending:
        yield pending


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(_BLANKS)
    return line[:end], rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\":
            out.append(character)
            continue
        escaped = text[position : position + 1]
        position += 1
        if escaped == "u":
            out.append(_code_unit(text[position : position + 4]))
            position += 4
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    # Java writes a character beyond the first 65536 as two escapes, a surrogate pair.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16")


def _code_unit(digits: str) -> str:
    if len(digits) != 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise ValueError(f"malformed \\u{digits}: four hexadecimal digits are needed")
    return chr(int(digits, 16))
