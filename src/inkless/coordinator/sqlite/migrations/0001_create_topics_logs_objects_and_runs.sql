-- One row: what there is once in a cluster.
CREATE TABLE cluster (
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    cluster_id TEXT NOT NULL,
    metadata_version INTEGER NOT NULL,
    next_producer_id INTEGER NOT NULL
) STRICT;

-- `replicas` is a JSON array with one array of broker ids for each partition, `configs` a JSON object:
-- both are read and changed as a whole.
CREATE TABLE topics (
    topic_id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    shard INTEGER NOT NULL,
    replicas TEXT NOT NULL,
    configs TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE broker_configs (
    -- -1 is the default for the whole cluster.
    broker_id INTEGER NOT NULL PRIMARY KEY,
    configs TEXT NOT NULL
) STRICT;

CREATE TABLE brokers (
    broker_id INTEGER NOT NULL PRIMARY KEY,
    incarnation BLOB NOT NULL,
    rack TEXT,
    listeners TEXT NOT NULL,
    lease_end_ms INTEGER NOT NULL
) STRICT;

-- Gives each partition the small number that the large tables know it by. AUTOINCREMENT, since the number of a
-- deleted partition must never come back: runs that are still to be forgotten have it.
CREATE TABLE partitions (
    partition_key INTEGER PRIMARY KEY AUTOINCREMENT,
    shard INTEGER NOT NULL,
    topic_id BLOB NOT NULL,
    partition_index INTEGER NOT NULL,
    UNIQUE (shard, topic_id, partition_index)
) STRICT;

-- Changed by every commit, hence narrow and apart from `partitions`. `max_timestamp_ms` is the greatest that was
-- ever appended; `byte_length` counts the runs that are not forgotten.
CREATE TABLE logs (
    partition_key INTEGER PRIMARY KEY,
    log_start_offset INTEGER NOT NULL,
    high_watermark INTEGER NOT NULL,
    byte_length INTEGER NOT NULL,
    max_timestamp_ms INTEGER NOT NULL
) STRICT;

-- Numbered in the order of their commits. `kind` is 0 for a WAL object, 1 for a segment, whose bytes carry their
-- offsets.
CREATE TABLE objects (
    object_number INTEGER PRIMARY KEY,
    object_id BLOB NOT NULL UNIQUE,
    object_key TEXT NOT NULL,
    byte_length INTEGER NOT NULL,
    broker_id INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    committed_ms INTEGER NOT NULL,
    run_count INTEGER NOT NULL,
    unreferenced_since_ms INTEGER
) STRICT;

CREATE INDEX unreferenced_objects ON objects (unreferenced_since_ms) WHERE unreferenced_since_ms IS NOT NULL;

-- First answers, for repeated commits; removed when they are too old to be asked for.
CREATE TABLE commit_answers (
    object_number INTEGER PRIMARY KEY,
    committed_ms INTEGER NOT NULL,
    answer BLOB NOT NULL
) STRICT;

-- The key ends with the last offset, so the first row at or after an offset is the run that holds it.
-- `running_max_timestamp_ms` never falls along the key, so a timestamp is found by bisection over the offsets and
-- needs no second index, which would double the pages that a commit writes.
CREATE TABLE runs (
    partition_key INTEGER NOT NULL,
    last_offset INTEGER NOT NULL,
    base_offset INTEGER NOT NULL,
    byte_start INTEGER NOT NULL,
    byte_length INTEGER NOT NULL,
    max_timestamp_ms INTEGER NOT NULL,
    running_max_timestamp_ms INTEGER NOT NULL,
    batch_index BLOB,
    object_number INTEGER NOT NULL,
    PRIMARY KEY (partition_key, last_offset)
) STRICT, WITHOUT ROWID;

-- `batches` packs the last five batches; `used_ms` lets unused producers expire.
CREATE TABLE producers (
    partition_key INTEGER NOT NULL,
    producer_id INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    batches BLOB NOT NULL,
    used_ms INTEGER NOT NULL,
    PRIMARY KEY (partition_key, producer_id)
) STRICT, WITHOUT ROWID;

-- Work left by a moved log start or a deleted topic: the runs that end before the offset are to be forgotten, and
-- with `whole_log` the producers too. Carried out in steps, each its own transaction.
CREATE TABLE pending_trims (
    partition_key INTEGER PRIMARY KEY,
    before_offset INTEGER NOT NULL,
    whole_log INTEGER NOT NULL
) STRICT;
