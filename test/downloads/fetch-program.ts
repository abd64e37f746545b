/** One process of several that want the same file. Prints a line of JSON per report and at the end. */
import { SystemClock } from '../../src/base/clock.ts'
import { ModelyardError } from '../../src/base/errors.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'

const [folder = '', endpoint = '', source = ''] = process.argv.slice(2)
const store = new ArtifactStore({ folder, clock: new SystemClock(), transfer: { endpoint, firstDelay: 50 } })
const controller = new AbortController()
process.once('SIGTERM', () => controller.abort())
try {
  const path = await store.ensure(source, {
    signal: controller.signal,
    onProgress: (progress) => console.log(JSON.stringify(progress)),
  })
  console.log(JSON.stringify({ path }))
} catch (error) {
  console.log(JSON.stringify({ code: error instanceof ModelyardError ? error.code : String(error) }))
}
