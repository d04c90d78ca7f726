"""Inkless: a Kafka-wire-compatible streaming system whose brokers keep no disks.

Follow the data from the package names: `server` reads requests, `produce` turns batches into objects in
`storage` and commits their coordinates to the `coordinator`, `fetch` finds them again.
"""

__version__ = "0.1.0"
