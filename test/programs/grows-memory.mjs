// Holds as many MiB as its first argument says, and has a child that holds as many as the second says. Says when it is ready.
import { spawn } from 'node:child_process'

const [, script, own = '0', childs = '0'] = process.argv
globalThis.held = Buffer.alloc(Number(own) * 1024 ** 2, 1)
if (childs === '0') console.log('ready')
else spawn(process.execPath, [script, childs], { stdio: 'inherit' })
setInterval(() => undefined, 1000)
