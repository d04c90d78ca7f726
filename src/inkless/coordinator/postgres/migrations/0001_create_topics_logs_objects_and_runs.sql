-- One row: what there is once in a cluster.
CREATE TABLE cluster (
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    cluster_id TEXT NOT NULL,
    metadata_version BIGINT NOT NULL,
    next_producer_id BIGINT NOT NULL
);

-- `replicas` is a JSON array with one array of broker ids for each partition, `configs` a JSON object: both are read
-- and changed as a whole. They are text, as jsonb refuses the character zero that a value may hold.
CREATE TABLE topics (
    topic_id BYTEA PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    shard INTEGER NOT NULL,
    replicas TEXT NOT NULL,
    configs TEXT NOT NULL
);

CREATE TABLE broker_configs (
    -- -1 is the default for the whole cluster.
    broker_id INTEGER PRIMARY KEY,
    configs TEXT NOT NULL
);

CREATE TABLE brokers (
    broker_id INTEGER PRIMARY KEY,
    incarnation BYTEA NOT NULL,
    rack TEXT,
    listeners TEXT NOT NULL,
    lease_end_ms BIGINT NOT NULL
);

-- Gives each partition the small number that the large tables know it by. The number of a deleted partition never
-- comes back: runs that are still to be forgotten have it.
CREATE TABLE partitions (
    partition_key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shard INTEGER NOT NULL,
    topic_id BYTEA NOT NULL,
    partition_index INTEGER NOT NULL,
    UNIQUE (topic_id, partition_index, shard)
);

-- Changed by every commit, hence narrow, apart from `partitions` and without a second index. `max_timestamp_ms` is
-- the greatest that was ever appended; `byte_length` counts the runs that are not forgotten.
CREATE TABLE logs (
    partition_key BIGINT PRIMARY KEY,
    log_start_offset BIGINT NOT NULL,
    high_watermark BIGINT NOT NULL,
    byte_length BIGINT NOT NULL,
    max_timestamp_ms BIGINT NOT NULL
);

-- Numbered in the order of their commits. `kind` is 0 for a WAL object, 1 for a segment, whose bytes carry their
-- offsets, and 2 for an object that was condemned before anybody committed it, which is kept for good.
CREATE TABLE objects (
    object_number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    object_id BYTEA NOT NULL UNIQUE,
    object_key TEXT NOT NULL,
    byte_length BIGINT NOT NULL,
    broker_id INTEGER NOT NULL,
    kind SMALLINT NOT NULL,
    committed_ms BIGINT NOT NULL,
    run_count INTEGER NOT NULL,
    unreferenced_since_ms BIGINT
);

CREATE INDEX unreferenced_objects ON objects (unreferenced_since_ms) WHERE unreferenced_since_ms IS NOT NULL;

-- An object that was deleted from storage soon after its commit leaves a row without runs and without a time, so that
-- a commit that is repeated late is known as such and does not point to what is gone.
CREATE INDEX forgotten_objects ON objects (committed_ms)
WHERE run_count = 0 AND unreferenced_since_ms IS NULL AND kind < 2;

-- First answers, for repeated commits; removed when they are too old to be asked for.
CREATE TABLE commit_answers (
    object_number BIGINT PRIMARY KEY,
    committed_ms BIGINT NOT NULL,
    answer BYTEA NOT NULL
);

-- The key ends with the last offset, so the first row at or after an offset is the run that holds it. What a find must
-- know of the object stands in the row, since a join costs several times as much as the lookup itself.
-- `running_max_timestamp_ms` never falls along the key, so a timestamp is found by bisection over the offsets.
CREATE TABLE runs (
    partition_key BIGINT NOT NULL,
    last_offset BIGINT NOT NULL,
    base_offset BIGINT NOT NULL,
    byte_start BIGINT NOT NULL,
    byte_length BIGINT NOT NULL,
    max_timestamp_ms BIGINT NOT NULL,
    running_max_timestamp_ms BIGINT NOT NULL,
    object_byte_length BIGINT NOT NULL,
    committed_ms BIGINT NOT NULL,
    kind SMALLINT NOT NULL,
    object_id BYTEA NOT NULL,
    object_key TEXT NOT NULL,
    batch_index BYTEA,
    PRIMARY KEY (partition_key, last_offset)
);

-- `batches` packs the last five batches; `used_ms` lets unused producers expire.
CREATE TABLE producers (
    partition_key BIGINT NOT NULL,
    producer_id BIGINT NOT NULL,
    epoch INTEGER NOT NULL,
    batches BYTEA NOT NULL,
    used_ms BIGINT NOT NULL,
    PRIMARY KEY (partition_key, producer_id)
);

-- Work left by a moved log start or a deleted topic: the runs that end before the offset are to be forgotten, and with
-- `whole_log` the producers too. Carried out in steps, each its own transaction.
CREATE TABLE pending_trims (
    partition_key BIGINT PRIMARY KEY,
    before_offset BIGINT NOT NULL,
    whole_log BOOLEAN NOT NULL
);

-- Work that one broker at a time does for all, and who holds the lease of it.
CREATE TABLE duties (
    duty TEXT PRIMARY KEY,
    holder BYTEA NOT NULL,
    lease_end_ms BIGINT NOT NULL
);
