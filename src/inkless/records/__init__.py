"""Record batches (magic 2): what is inside the `records` field of Produce and Fetch.

On the broker's hot path only the 61-byte header is read and the CRC is checked: `header`, `validate` and
`stamp` never look inside a batch. Clients, tools and timestamp look-ups go further: `compress`, `encode`,
`decode` and `search` turn batches into records and back.

Invariants: nothing here awaits; a batch is never copied to be checked or stamped; no length or count in the
bytes is believed before it is held against the bytes that are there; decompression is bounded.

When a step fails: bytes that a client sent are refused with RequestError and the Kafka code it expects; bytes
that come out of storage, or out of a broker's answer, raise CorruptData.
"""
