-- An offset in the first run whose greatest timestamp is not smaller, or null; a null timestamp means the greatest of
-- the log. Bisects over the offsets from the log start to the high watermark, one index lookup for each step. Takes no
-- locks; STABLE, so all lookups see what the calling statement sees.
CREATE FUNCTION offset_at_timestamp(log_key BIGINT, log_start BIGINT, log_end BIGINT, wanted_ms BIGINT)
RETURNS BIGINT LANGUAGE plpgsql STABLE AS $$
DECLARE
    low BIGINT := log_start;
    high BIGINT := log_end;
    middle BIGINT;
    own_ms BIGINT;
    running_ms BIGINT;
    found_offset BIGINT;
BEGIN
    IF log_start = log_end THEN
        RETURN NULL;
    END IF;
    IF wanted_ms IS NULL THEN
        SELECT running_max_timestamp_ms INTO running_ms FROM runs
        WHERE partition_key = log_key AND last_offset >= log_end - 1 ORDER BY last_offset LIMIT 1;
        found_offset := offset_at_timestamp(log_key, log_start, log_end, running_ms);
        IF found_offset IS NULL THEN
            -- The greatest of all was in a run that is forgotten, so the living ones must be looked through.
            SELECT max(max_timestamp_ms) INTO own_ms FROM runs
            WHERE partition_key = log_key AND last_offset >= log_start;
            found_offset := offset_at_timestamp(log_key, log_start, log_end, own_ms);
        END IF;
        RETURN found_offset;
    END IF;
    WHILE low < high LOOP
        middle := low + (high - low) / 2;
        SELECT running_max_timestamp_ms INTO running_ms FROM runs
        WHERE partition_key = log_key AND last_offset >= middle ORDER BY last_offset LIMIT 1;
        IF running_ms >= wanted_ms THEN
            high := middle;
        ELSE
            low := middle + 1;
        END IF;
    END LOOP;
    IF low = log_end THEN
        RETURN NULL;
    END IF;
    SELECT max_timestamp_ms INTO own_ms FROM runs
    WHERE partition_key = log_key AND last_offset >= low ORDER BY last_offset LIMIT 1;
    IF own_ms >= wanted_ms THEN
        RETURN low;
    END IF;
    -- A forgotten run had a greater timestamp than those after it, so bisection stops at the first living run; only
    -- then is the log looked through.
    SELECT last_offset INTO found_offset FROM runs
    WHERE partition_key = log_key AND last_offset >= log_start AND max_timestamp_ms >= wanted_ms
    ORDER BY last_offset LIMIT 1;
    RETURN found_offset;
END
$$;

-- Forgets up to `runs_max` runs that are noted in `pending_trims`; true while there may be more to do. Objects that
-- lose their last run are recorded for deletion. The caller holds the advisory lock of the shard's logs, under which
-- alone these tables are written, so the row locks taken here are never waited for. All of it is lookups by key: with
-- statistics from the time when the tables were small, the planner would read them whole.
CREATE FUNCTION forget_noted_runs(runs_max INTEGER, now_ms BIGINT)
RETURNS BOOLEAN LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    runs_left INTEGER := runs_max;
    trim pending_trims%ROWTYPE;
    forgotten_count INTEGER;
BEGIN
    WHILE runs_left > 0 LOOP
        SELECT * INTO trim FROM pending_trims ORDER BY partition_key LIMIT 1;
        IF NOT FOUND THEN
            RETURN FALSE;
        END IF;
        WITH doomed AS (
            SELECT last_offset FROM runs
            WHERE partition_key = trim.partition_key AND last_offset < trim.before_offset
            ORDER BY last_offset LIMIT runs_left
        ), forgotten AS (
            DELETE FROM runs
            WHERE partition_key = trim.partition_key AND last_offset <= (SELECT max(last_offset) FROM doomed)
            RETURNING object_id, byte_length
        ), released AS (
            UPDATE objects AS o
            SET run_count = o.run_count - f.runs,
                unreferenced_since_ms = CASE WHEN o.run_count = f.runs THEN now_ms END
            FROM (SELECT object_id, count(*)::integer AS runs FROM forgotten GROUP BY object_id) AS f
            WHERE o.object_id = f.object_id
        ), shrunk AS (
            UPDATE logs SET byte_length = byte_length - (SELECT sum(byte_length) FROM forgotten)::bigint
            WHERE partition_key = trim.partition_key AND EXISTS (SELECT 1 FROM forgotten)
        )
        SELECT count(*) INTO forgotten_count FROM forgotten;
        IF forgotten_count < runs_left THEN
            IF trim.whole_log THEN
                DELETE FROM producers WHERE partition_key = trim.partition_key;
            END IF;
            DELETE FROM pending_trims WHERE partition_key = trim.partition_key;
        END IF;
        -- A log without runs counts too, or a topic of many empty partitions would be one long transaction.
        runs_left := runs_left - forgotten_count - 1;
    END LOOP;
    RETURN TRUE;
END
$$;
