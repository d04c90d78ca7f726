"""From an offset to bytes.

    find (one coordinator call) → plan → cache or object storage → views of the stored bytes

`fetcher` sequences the stages and parks requests with nothing to return yet; commits wake them, those of this
broker through `tail` and those of others through `watch`. Invariants kept here: nobody sees beyond the high
watermark, since coordinates only exist for what is committed; bytes from storage are checked once, when they
come in, and corrupt ones are never served.

Cached runs carry their offsets in the bytes (`stamping`), so a response is a handful of views however many
batches it holds. Objects come into memory only while `room` has some left: a response that is not read keeps
its bytes, so slow clients share a budget, and who finds none in time is answered with nothing. When storage
does not answer, the partition gets a retriable error, the others their data.
"""
