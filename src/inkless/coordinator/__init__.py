"""The Batch Coordinator and the cluster's metadata: the only place where order is made, and the only SQL.

`contract` is what brokers, pipeline and tools program against, in the words of `types`; `open` turns a URL
into an implementation. What every backend must work out alike has no database in it: `append` gives offsets,
`producer_state` judges idempotent producers, `find_plan` spends a find's budget, and `batch_index` and
`commit_answer` are blobs inside rows. The packages below (`sqlite`, `postgres`) store and look up.

Invariants: offsets of a partition are dense and unique, high watermark and log start never go back, an object
is committed once however often the call is repeated, and coordinates are visible only together with all else
that their commit changes.

It is called by `produce` after an object is durable and before anything is acknowledged, and by `fetch`
before anything is read. When a step fails, the whole transaction is undone and the caller gets
`errors.Unavailable`; as every call can be repeated, it need not know whether the answer or the work was lost.
"""
