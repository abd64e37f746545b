// Claims the home given as argument at the moment given (milliseconds since 1970), prints what came of it, and holds it.
import { ModelyardError } from '../../src/base/errors.ts'
import { claimHome } from '../../src/host/home-lock.ts'

const [directory = '', moment = '0'] = process.argv.slice(2)
while (Date.now() < Number(moment));
try {
  await claimHome(directory, { url: `http://127.0.0.1:${process.pid}` })
  console.log('claimed')
} catch (error) {
  console.log(error instanceof ModelyardError ? error.code : String(error))
}
setInterval(() => undefined, 1000)
