"""The control plane in one SQLite file, for one machine: embedded brokers, tests, small clusters.

    caller ─► control_plane ─► database_thread ─► writer ─► commit, trim, topics, brokers, groups, …
                          └──► database_thread ─► reader ─► find, retention, topics, brokers, groups, …

One thread writes and one reads, each with its own connection; in the write-ahead log neither waits for the
other. Calls that arrive while a transaction runs are carried out together in the next one (group commit),
which is where the speed comes from: a sync costs the same for one caller and for a hundred. Several processes
may share a file; a file lock in front of SQLite's own keeps their waits short (`connection`), and what the
writer remembers (`log_cache`) is dropped as soon as another process has written.

Invariants: an acknowledged commit was synced to disk. A transaction is carried out wholly or not at all, and
after one that failed nothing remembered is trusted.

When a step fails, its transaction is rolled back and every caller of the group gets `errors.Unavailable`. A
caller that gives up waiting is skipped if its work has not begun; if it has, the work is done and the
repeated call gets its answer.
"""
