-- Groups that were joined or committed to. `incarnation` is the broker process that coordinates the group and `epoch`
-- counts how often that changed: what carries others is refused. `used_ms` lets unused groups expire. Ids, protocol
-- types and metadata are the clients' own and may hold the character zero, which text refuses: they are UTF-8 bytes.
CREATE TABLE consumer_groups (
    group_key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_id BYTEA NOT NULL UNIQUE,
    broker_id INTEGER NOT NULL,
    incarnation BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    generation INTEGER NOT NULL,
    protocol_type BYTEA NOT NULL,
    used_ms BIGINT NOT NULL
);

CREATE INDEX consumer_groups_by_use ON consumer_groups (used_ms);

-- Known by the topic's id, so that a topic made anew under an old name does not begin at its predecessor's offsets.
CREATE TABLE group_offsets (
    group_key BIGINT NOT NULL,
    shard INTEGER NOT NULL,
    topic_id BYTEA NOT NULL,
    partition_index INTEGER NOT NULL,
    committed_offset BIGINT NOT NULL,
    leader_epoch INTEGER NOT NULL,
    metadata BYTEA NOT NULL,
    committed_ms BIGINT NOT NULL,
    PRIMARY KEY (group_key, topic_id, partition_index, shard)
);

-- For the deletion of a topic. Commits that move an offset leave it alone.
CREATE INDEX group_offsets_by_topic ON group_offsets (topic_id);
