// Writes as many MB to stderr as its argument says, in lines, then one last line.
import { writeSync } from 'node:fs'

const megabyte = 'x'.repeat(99).concat('\n').repeat(10_000)
for (let left = Number(process.argv[2]); left > 0; left--) writeSync(2, megabyte)
writeSync(2, 'the last line\n')
