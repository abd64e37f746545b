import { refuseNewer, storeVersion } from './migrations.ts'
import { loadSqlite } from './sqlite.ts'

/**
 * Looks at a database without writing: its version, and whether SQLite finds its pages sound.
 * @throws ModelyardError `unsupported` for one of a newer version (M22); any other error when it is damaged
 */
export async function checkDatabase(path: string): Promise<void> {
  const open = await loadSqlite()
  const database = open(path, { readOnly: true })
  try {
    refuseNewer(storeVersion(database), path)
    const result = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
    if (result !== 'ok') throw new Error(String(result))
  } finally {
    database.close()
  }
}
