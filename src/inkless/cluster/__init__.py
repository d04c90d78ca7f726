"""What a broker knows of its cluster: topics, brokers, where partitions are placed and who serves them.

`directory` and `membership` are caches of the database behind `ClusterMetadata`; losing them loses nothing.
They are renewed with the broker's lease and, sooner, when a client asks for what they do not hold, since
another broker may have made it (`Membership.catch_up`). While the database does not answer, what is known is
used.
`placement`, `routing` and `topic_names` are pure rules.
"""
