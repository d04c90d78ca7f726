"""What a broker knows of its cluster: topics, brokers, where partitions are placed and who serves them.

`directory` and `membership` are caches of the database behind `ClusterMetadata`; losing them loses nothing.
`placement`, `routing` and `topic_names` are pure rules.
"""
