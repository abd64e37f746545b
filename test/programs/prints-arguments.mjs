// Prints its arguments, its nonce and whether it leads its group, as one line of JSON.
const [, , ...args] = process.argv
console.log(JSON.stringify({ args, nonce: process.env.MODELYARD_WORKER_NONCE }))
