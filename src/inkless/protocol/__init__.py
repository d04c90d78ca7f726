"""The Kafka wire format: bytes to messages and back, and nothing else.

`messages` holds the tables, one class per message and struct; `schema` and `wire_types` say how a table is
written; `decoding` and `encoding` compile a table, per version, to a function; `codec` is where the
functions are asked for, `registry` where the API of a key is found, `headers` what stands before each
message. `error_codes` and `api_keys` are the protocol's two enumerations.

Invariants: this package imports nothing of ours, never awaits and does no I/O. Decoding gives a message or
raises `MalformedBytes`, whatever the bytes are, and allocates no more than the bytes received can justify.
Records are never copied or looked into: they are views of what was received, and references to what is
sent.

In the flow it stands first and last: a connection hands it a frame, a handler gets a message, and the
response goes back the same way. When decoding fails the connection is closed, since nothing behind that
point can be trusted; when encoding fails it is a bug, raised as `UnencodableMessage`.
"""
