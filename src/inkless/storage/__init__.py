"""Object storage: immutable objects by key, in a local folder, in memory, or in S3, GCS or Azure Blob.

`contract` says what every store promises; `open` turns settings into a store; `keys` names objects. `folder`
(with `files` and `incoming`), `memory` and `remote` are the stores, `hedging` and `meter` wrap any of them.

The invariants: an object is visible whole or not at all, is durable when its put returns, and never changes
after. Produce puts WAL objects here before it commits them; fetch and the pipeline read them by coordinates.

When a step fails, the error says what to do: `Unavailable` may be repeated as it is, since puts are
idempotent by key; `ObjectMissing` and `CorruptData` mean that coordinates and storage disagree, and no retry
helps. A put that failed may still have stored its object: without a commit it is an orphan, and harmless.
"""
