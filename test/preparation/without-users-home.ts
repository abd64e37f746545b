import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a user may have set for his own server. */
const SETTINGS = [
  'MODELYARD_CONFIG',
  'MODELYARD_HOST',
  'MODELYARD_PORT',
  'MODELYARD_API_KEY',
  'MODELYARD_API_KEY_FILE',
  'MODELYARD_ADMIN_KEY',
  'MODELYARD_ADMIN_KEY_FILE',
]

// Models, engines and a configuration of the user who runs the tests are nothing to them: after `npm start` there is a model more.
for (const name of SETTINGS) delete process.env[name]
process.env['MODELYARD_HOME'] = join(tmpdir(), `modelyard-no-home-${process.pid}`)
