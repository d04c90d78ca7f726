"""The control plane in PostgreSQL, for clusters of any size.

    caller ─► control_plane ─► grouped_calls ─► commit         pool of the commits
                          ├──► find                            pool of the finds
                          ├──► grouped_calls ─► group_changes  pool of everything else
                          └──► topics, brokers, log_starts, objects, producers, duties

Work is done in Python where every backend must do it alike (`append`, `producer_state`, `find_plan`); the
database locks, reads with one statement and writes with one. Calls that arrive while a transaction runs are
carried out together in the next one, since waiting for each other, not work, is what limits the database.
`connections` says which lock stands for which table and in which order they are taken. `notices` tells the
other brokers of a commit.

Invariants: logs and what belongs to them are written only under the lock of the logs, and whoever holds it
sees all that its former holders committed. A transaction is carried out wholly or not at all. Nothing is
remembered between transactions, so any number of processes may share a database.

When a step fails, its transaction is rolled back, by the server where the connection is lost, and every
caller of the group gets `errors.Unavailable`; pools connect again by themselves. A commit whose answer was
lost is repeated by its caller and recognised by its object id.
"""
