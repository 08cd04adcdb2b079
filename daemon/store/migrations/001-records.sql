CREATE TABLE records (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  revision INTEGER NOT NULL,
  created_revision INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT;

-- The latest changes, for watches that begin in the past. The last row is never deleted: its
-- revision is the store's. action: 0 created, 1 changed, 2 removed (value: the last one).
CREATE TABLE changes (
  revision INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  action INTEGER NOT NULL CHECK (action BETWEEN 0 AND 2),
  value BLOB NOT NULL,
  created_revision INTEGER NOT NULL
) STRICT;

CREATE INDEX changes_of_kind ON changes (kind, revision);
