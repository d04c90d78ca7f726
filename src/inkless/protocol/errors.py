"""What can go wrong between bytes and messages."""


class MalformedBytes(ValueError):  # noqa: N818 - what the bytes are, as in the tree of `inkless.errors`
    """Bytes that do not form the message they claim to be; the connection they came from is closed."""


class UnencodableMessage(ValueError):  # noqa: N818 - named like its counterpart
    """A message whose values do not fit its wire form: a bug of the one who made it."""
