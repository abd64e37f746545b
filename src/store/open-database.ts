import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ModelyardError } from '../base/errors.ts'
import { migrate, refuseNewer, storeVersion } from './migrations.ts'
import { sqliteCode, type Database, type OpenDatabase } from './sqlite.ts'

export interface OpenedDatabase {
  database: Database
  /** False when it lives in memory only. */
  durable: boolean
}

export interface OpenDatabaseOptions {
  open: OpenDatabase
  /** Told once when the file cannot be used as it is. */
  onProblem: (error: ModelyardError) => void
  /** Milliseconds since 1970, for the name of a damaged file that is set aside. */
  wallTime: number
}

const READ_ONLY = 8
const CORRUPT = 11
const NOT_A_DATABASE = 26
/** Milliseconds to wait for another process that is migrating; while serving, much less (see below). */
const PATIENCE = 5000
const PATIENCE_WHILE_SERVING = 100

/**
 * Opens the file, or when that cannot be done a database in memory, so that the yard serves on (a full or read-only disk costs the
 * history, not the service). A damaged file is set aside, never overwritten.
 * @throws ModelyardError `unsupported` for a newer database, which is left as it is (M22)
 */
export async function openDatabase(path: string, options: OpenDatabaseOptions): Promise<OpenedDatabase> {
  try {
    await mkdir(dirname(path), { recursive: true })
    return { database: await openFile(path, options), durable: true }
  } catch (error) {
    if (error instanceof ModelyardError && error.code === 'unsupported') throw error
    options.onProblem(inMemoryOnly(path, error))
    return { database: prepared(options.open(':memory:'), ':memory:'), durable: false }
  }
}

async function openFile(path: string, options: OpenDatabaseOptions): Promise<Database> {
  try {
    return openPrepared(path, options.open)
  } catch (error) {
    const code = sqliteCode(error)
    if (code !== CORRUPT && code !== NOT_A_DATABASE) throw error
    options.onProblem(await setAside(path, options.wallTime, error))
    return openPrepared(path, options.open)
  }
}

function openPrepared(path: string, open: OpenDatabase): Database {
  checkVersion(path, open)
  keepPrivate(path)
  return prepared(open(path), path)
}

/** For its owner alone: it may hold what users wrote. SQLite gives the files beside it the same mode. */
function keepPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  for (const suffix of ['', '-wal', '-shm']) if (existsSync(path + suffix)) chmodSync(path + suffix, 0o600)
}

/** Looks without a single write first: the settings below would already change a newer file's header (M22). */
function checkVersion(path: string, open: OpenDatabase): void {
  if (!existsSync(path)) return
  try {
    checkVersionOf(open(path, { readOnly: true }), path)
  } catch (error) {
    // Who was killed while the file was made left a journal that only somebody who may write can roll back (SQLITE_READONLY_ROLLBACK).
    if (sqliteCode(error) !== READ_ONLY) throw error
    checkVersionOf(open(path), path)
  }
}

function checkVersionOf(database: Database, path: string): void {
  try {
    refuseNewer(storeVersion(database), path)
  } finally {
    database.close()
  }
}

function prepared(database: Database, path: string): Database {
  try {
    database.exec(`PRAGMA busy_timeout = ${PATIENCE}`)
    database.exec('PRAGMA journal_mode = WAL')
    // With WAL this survives every crash of the process; a power cut may cost the last moments, never the file.
    database.exec('PRAGMA synchronous = NORMAL')
    database.exec('PRAGMA foreign_keys = ON')
    // What is deleted is gone from the file as well.
    database.exec('PRAGMA secure_delete = ON')
    migrate(database, path)
    // Waiting blocks the event loop. While serving, a busy file is tried again later instead.
    database.exec(`PRAGMA busy_timeout = ${PATIENCE_WHILE_SERVING}`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

async function setAside(path: string, wallTime: number, cause: unknown): Promise<ModelyardError> {
  const aside = `${path}.damaged-${Math.round(wallTime)}`
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(path + suffix)) await rename(path + suffix, aside + suffix)
  }
  const message = `The database ${path} is damaged. It was set aside as ${aside}, and a new one was begun.`
  return new ModelyardError('internal', message, { details: { path, aside }, cause })
}

function inMemoryOnly(path: string, cause: unknown): ModelyardError {
  const message =
    `The database ${path} cannot be used (${(cause as Error).message}). Modelyard serves on, but its history and ` +
    'measurements are lost when it ends.'
  return new ModelyardError('disk_full', message, { details: { path }, cause })
}
