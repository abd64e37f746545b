import { ModelyardError } from '../base/errors.ts'
import { transaction, type Database } from './sqlite.ts'

/**
 * What each version of the store adds to the one before. Forward only (M22): entries are never changed or removed once released;
 * a new version is a new entry. `PRAGMA user_version` counts the ones that were done.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    model TEXT NOT NULL,
    instance TEXT,
    kind TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    queue_ms REAL NOT NULL,
    load_ms REAL NOT NULL,
    prefill_ms REAL NOT NULL,
    decode_ms REAL NOT NULL,
    total_ms REAL NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    outcome TEXT NOT NULL
  ) STRICT;

  CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;

  CREATE TABLE measurements (
    plan_key TEXT NOT NULL,
    domain TEXT NOT NULL,
    model TEXT NOT NULL,
    private INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (plan_key, domain)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE model_records (
    model TEXT PRIMARY KEY,
    loads INTEGER NOT NULL,
    load_ms REAL,
    first_token_ms REAL,
    verified INTEGER NOT NULL,
    error_code TEXT,
    error_message TEXT,
    error_at INTEGER,
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE settings (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE runs ADD COLUMN request TEXT;
  ALTER TABLE runs ADD COLUMN placement TEXT;
  ALTER TABLE runs ADD COLUMN error TEXT;
  CREATE INDEX runs_by_id ON runs (id);
  CREATE INDEX runs_by_request ON runs (request) WHERE request IS NOT NULL;
  `,
  `
  CREATE TABLE responses (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    previous TEXT,
    model TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    items TEXT NOT NULL,
    response TEXT NOT NULL
  ) STRICT;
  CREATE INDEX responses_by_age ON responses (created_at);
  `,
  `
  CREATE TABLE load_times (
    plan_key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    milliseconds REAL NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE demand (
    model TEXT PRIMARY KEY,
    count REAL NOT NULL,
    counted_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE runs ADD COLUMN saved_ms REAL NOT NULL DEFAULT 0;
  `,
  `
  CREATE TABLE prefill_speeds (
    key TEXT PRIMARY KEY,
    tokens_per_second REAL NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
]

export function storeVersion(database: Database): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
}

/** Brings a database to the newest version, each step whole or not at all. @throws ModelyardError `unsupported` for a newer one */
export function migrate(database: Database, path: string): void {
  if (storeVersion(database) === MIGRATIONS.length) return
  transaction(database, () => {
    // Read again inside: another process may have been faster.
    const version = storeVersion(database)
    refuseNewer(version, path)
    for (const step of MIGRATIONS.slice(version)) database.exec(step)
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
  })
}

/** @throws ModelyardError `unsupported`, in a sentence that says what to do (M22) */
export function refuseNewer(version: number, path: string): void {
  if (version <= MIGRATIONS.length) return
  const message =
    `The database ${path} was written by a newer Modelyard (its version is ${version}, this one knows ${MIGRATIONS.length}). ` +
    'It was left as it is; use the newer Modelyard, or name another folder by MODELYARD_HOME.'
  throw new ModelyardError('unsupported', message, { details: { path, version, known: MIGRATIONS.length } })
}
