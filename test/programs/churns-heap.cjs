// Required by a server (NODE_OPTIONS): at SIGUSR2 it keeps 40 MiB of objects alive and puts new ones in the place of the oldest, as requests
// do that are remembered for a while; then it tells how many MiB lived and how many the heap took at most.
const MIB = 1024 ** 2
const KEPT = 200_000

process.once('SIGUSR2', () => {
  const kept = Array.from({ length: KEPT }, remembered)
  const live = process.memoryUsage().heapUsed
  let most = 0
  for (let index = 0; index < KEPT * 8; index++) {
    kept[index % KEPT] = remembered(undefined, index)
    if (index % 10_000 === 0) most = Math.max(most, process.memoryUsage().heapTotal)
  }
  console.error(`lived ${Math.round(live / MIB)}, took ${Math.round(most / MIB)}`)
})

function remembered(_, index) {
  return { index, numbers: Array.from({ length: 20 }, (__, offset) => index + offset) }
}
