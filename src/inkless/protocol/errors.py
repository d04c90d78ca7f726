"""What can go wrong between bytes and messages."""


class MalformedBytes(ValueError):
    """Bytes that do not form the message they claim to be; the connection they came from is closed."""


class UnencodableMessage(ValueError):
    """A message whose values do not fit its wire form: a bug of the one who made it."""
