/** The part of `node:sqlite` that the store uses. */
export interface Database {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

export type SqlValue = string | number | null

export interface Statement {
  run(...values: SqlValue[]): unknown
  get(...values: SqlValue[]): Record<string, unknown> | undefined
  all(...values: SqlValue[]): Record<string, unknown>[]
}

export type OpenDatabase = (path: string, options?: { readOnly?: boolean }) => Database

interface SqliteModule {
  DatabaseSync: new (path: string, options?: { readOnly?: boolean }) => Database
}

/**
 * SQLite through the interface of `node:sqlite`: Node's own where it has it (from 22.5 on), else the package of the same interface
 * that carries its binary, so that nothing compiles on a user's machine.
 */
export async function loadSqlite(): Promise<OpenDatabase> {
  const { DatabaseSync } = (await ownSqlite()) ?? (await import('@photostructure/sqlite'))
  return (path, options = {}) => new DatabaseSync(path, options)
}

async function ownSqlite(): Promise<SqliteModule | undefined> {
  // Not a literal: bundlers and test runners would resolve it, and drop the prefix without which Node does not know it.
  const name: string = 'node:sqlite'
  try {
    return (await import(name)) as SqliteModule
  } catch {
    return undefined
  }
}

/** Primary result code of an SQLite error (5 busy, 8 read-only, 13 full, …); undefined for other errors. */
export function sqliteCode(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

/**
 * Closes a database with everything in its one file. The package for Node 20 really lets go of it only when the statements are
 * collected as garbage, so what SQLite would do at the end is done before. Never throws: what was written is safe in the log beside it.
 */
export function closeDatabase(database: Database): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // A full or read-only disk: the next one to open the file reads the log.
  }
  try {
    database.close()
  } catch {
    // It was closed already.
  }
}

/** Runs `work` in one transaction that begins with the right to write. */
export function transaction<Result>(database: Database, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    rollback(database)
    throw error
  }
}

/** Some errors (a full disk) have rolled back already; that is no news. */
function rollback(database: Database): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // There was no transaction any more.
  }
}
