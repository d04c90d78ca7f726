"""From accepted batches to acknowledged offsets.

    writer.append → ActiveObject → (rotation) → seal → upload → commit → settle each append

`writer` sequences the stages; each other module is one stage. Invariants kept here: PUT first, commit second,
ack last; commits leave in rotation order; appends of one connection keep their order.

When a step fails for good, every append in that object is settled with a retriable error. The object itself
is left for the orphan collection: the broker cannot know whether its commit went through.
"""
