// Says that it is ready, then goes on whatever SIGTERM says (BR-18).
process.on('SIGTERM', () => console.log('not yet'))
console.log('ready')
setInterval(() => undefined, 1000)
