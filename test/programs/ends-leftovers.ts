// Ends the leftovers recorded in the folder given as argument, with nothing else to do meanwhile, and prints how many there were.
import { SystemClock } from '../../src/base/clock.ts'
import { endLeftovers } from '../../src/host/worker-records.ts'

const { ended } = await endLeftovers(process.argv[2] ?? '', { clock: new SystemClock(), grace: 300 })
console.log(`ended ${ended.length}`)
