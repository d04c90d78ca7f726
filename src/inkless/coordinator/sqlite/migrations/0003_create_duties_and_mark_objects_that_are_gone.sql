-- Work that one broker at a time does for all, and who holds the lease of it.
CREATE TABLE duties (
    duty TEXT NOT NULL PRIMARY KEY,
    holder BLOB NOT NULL,
    lease_end_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An object that was deleted from storage soon after its commit leaves a row without runs and without a time, so that
-- a commit that is repeated late is known as such and does not point to what is gone. These rows are removed by the
-- age of their commit. Kind 2, an object that was condemned before anybody committed it, is kept for good.
CREATE INDEX forgotten_objects ON objects (committed_ms)
WHERE run_count = 0 AND unreferenced_since_ms IS NULL AND kind < 2;
