"""A small asynchronous Kafka client, for the command line, the benchmarks and the tests.

    connection   one socket: pipelined requests, matched by correlation id
    topology     addresses, and what a Metadata response says about brokers, topics and leaders
    cluster      finds the right broker for a request, and tries again within a deadline
    offsets      ListOffsets over many partitions
    admin        topics, partitions, configurations, records to be deleted
    partitioner, outbox, producer    key to partition, records to batches, batches to acknowledgements
    consumer     fetches assigned partitions; no groups

Invariants: everything that waits has a deadline; memory in a producer or consumer is bounded by its settings;
the batches of one partition leave in the order in which their records were sent.

When a step fails: `Unavailable` when no broker answers in time, its message naming the address and what to
look at; `RequestError` when a broker answers with an error code that repeating does not cure; `CorruptData`
when what it answers cannot be right.
"""
