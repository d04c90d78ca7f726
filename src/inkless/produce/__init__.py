"""From accepted batches to acknowledged offsets.

    writer.append → ActiveObject → (rotation) → seal → upload → commit → settle each append

`writer` sequences the stages; each other module is one stage. Invariants kept here: PUT first, commit second,
ack last; commits leave in rotation order; appends of one connection keep their order.

When a step fails for good, every append in that object and behind it is settled with a retriable error, so
that no producer's later batch overtakes an earlier one. The object itself is left for the orphan collection:
the broker cannot know whether its commit went through.
"""
