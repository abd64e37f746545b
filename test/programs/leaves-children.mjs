// Starts one child in its own group and one that leaves it (a session of its own); both keep its output open. With the argument
// "exit" it then ends itself.
import { spawn } from 'node:child_process'

spawn('sleep', ['1000'], { stdio: 'inherit' })
const gone = spawn('sleep', ['1000'], { stdio: 'inherit', detached: true })
console.log(JSON.stringify({ gone: gone.pid }))
if (process.argv[2] === 'exit') setTimeout(() => process.exit(7), 100)
else setInterval(() => undefined, 1000)
