// Parks contexts as fast as it can. Ended by kill −9 in the test beside it.
import { writeFile } from 'node:fs/promises'
import { SystemClock } from '../../src/base/clock.ts'
import { ContextFolder } from '../../src/contexts/context-folder.ts'
import { bodyOf, orderOf } from './parked-bodies.ts'

const [path = '', from = '1'] = process.argv.slice(2)
process.stdin.resume()
const folder = new ContextFolder(path, new SystemClock())
await folder.open()
process.stdout.write('begun\n')
for (let number = Number(from); ; number++) {
  await folder.park(orderOf(number), async (file) => {
    await writeFile(file, bodyOf(number))
    return undefined
  })
}
