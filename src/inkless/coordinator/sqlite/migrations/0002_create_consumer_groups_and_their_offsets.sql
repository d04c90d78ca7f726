-- Groups that were joined or committed to. `incarnation` is the broker process that coordinates the group and `epoch`
-- counts how often that changed: what carries others is refused. `used_ms` lets unused groups expire.
CREATE TABLE consumer_groups (
    group_key INTEGER PRIMARY KEY,
    group_id TEXT NOT NULL UNIQUE,
    broker_id INTEGER NOT NULL,
    incarnation BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    protocol_type TEXT NOT NULL,
    used_ms INTEGER NOT NULL
) STRICT;

-- Known by the topic's id, so that a topic made anew under an old name does not begin at its predecessor's offsets.
CREATE TABLE group_offsets (
    group_key INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    topic_id BLOB NOT NULL,
    partition_index INTEGER NOT NULL,
    committed_offset INTEGER NOT NULL,
    leader_epoch INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    committed_ms INTEGER NOT NULL,
    PRIMARY KEY (group_key, shard, topic_id, partition_index)
) STRICT, WITHOUT ROWID;

-- For the deletion of a topic. Commits that move an offset leave it alone.
CREATE INDEX group_offsets_by_topic ON group_offsets (topic_id);
