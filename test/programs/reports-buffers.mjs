import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// Loads one model in a process of its own as the engine does, fills one slot with `fill` tokens and lets all of them write. Tells in one
// line of JSON what llama.cpp logs of its buffers and what of them was really touched, in bytes. Run it with MALLOC_MMAP_THRESHOLD_ set
// to a MiB, so that each buffer has a mapping of its own.
// Argument: JSON of {model, engines, contextSize, slots, batchSize, kvCacheType, flashAttention, fill}.

const {
  model: modelPath,
  engines,
  contextSize,
  slots,
  batchSize,
  kvCacheType,
  flashAttention,
  fill,
} = JSON.parse(process.argv[2])
const { getLlama } = await import(
  pathToFileURL(join(engines, 'node-llama-cpp/node_modules/node-llama-cpp/dist/index.js')).href
)
const logged = []
const llama = await getLlama({
  gpu: false,
  build: 'never',
  progressLogs: false,
  maxThreads: 1,
  logLevel: 'debug',
  logger: (_level, message) =>
    logged.push(...message.split('\n').filter((line) => line.includes('buffer size'))),
})

/** All mappings of this process: their size, the touched part of it, in bytes, and their name. */
function mappings() {
  const found = []
  for (const line of readFileSync('/proc/self/smaps', 'latin1').split('\n')) {
    const [, from, to, name] = /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+ *(.*)$/.exec(line) ?? []
    if (from !== undefined) found.push({ size: Number(`0x${to}`) - Number(`0x${from}`), touched: 0, name })
    const [, touched] = /^Anonymous: +(\d+)/.exec(line) ?? []
    if (touched !== undefined) found.at(-1).touched = Number(touched) * 1024
  }
  return found
}

/** Bytes of a buffer in the log, `CPU KV buffer size = 45.00 MiB`; the last line of the kind, because the context is tried first. */
function buffer(kind) {
  const line = logged.findLast((each) => each.includes(` ${kind} buffer size`))
  return Math.round(Number(/= +([\d.]+) MiB/.exec(line ?? '')?.[1] ?? 0) * 1024 ** 2)
}

/**
 * What was touched of the compute buffer. Large buffers have a mapping of their own, which the system joins with its neighbour: then
 * the others in it, which are touched whole, are taken off. Null where it cannot be told apart.
 */
function touchedCompute() {
  const others = [0, buffer('KV'), buffer('CPU_REPACK model'), buffer('KV') + buffer('CPU_REPACK model')]
  for (const other of others) {
    const found = mappings().filter(({ size }) => Math.abs(size - other - buffer('compute')) < 64 * 1024)
    const touched = (found[0]?.touched ?? 0) - other
    // One that is touched whole is the cache, by chance of the same size.
    if (found.length === 1 && touched < 0.95 * buffer('compute')) return touched
  }
  return null
}

const model = await llama.loadModel({ modelPath, gpuLayers: 0, useMmap: true })
const type = kvCacheType.toUpperCase()
const context = await model.createContext({
  contextSize,
  sequences: slots,
  threads: 1,
  batchSize,
  flashAttention,
  swaFullCache: true,
  experimentalKvCacheKeyType: type,
  experimentalKvCacheValueType: type,
  failedCreationRemedy: false,
})
const sequences = Array.from({ length: slots }, () => context.getSequence())
const tokens = Array.from({ length: Math.min(fill, contextSize - 8) }, (_, index) => 10 + (index % 200))
for (let start = 0; start < tokens.length - 1; start += batchSize) {
  const piece = tokens.slice(start, Math.min(start + batchSize, tokens.length - 1))
  await sequences[0].evaluateWithoutGeneratingNewTokens(piece)
}
await Promise.all(
  sequences.map(async (sequence) => {
    const choosing = sequence.evaluateWithMetadata([10], {}, { temperature: 0.8, topK: 40, seed: 1 })
    for (let made = 0; made < 4; made++) await choosing.next()
    await choosing.return()
  }),
)
await new Promise((resolve) => setTimeout(resolve, 100))
console.log(
  JSON.stringify({
    mapped: buffer('CPU_Mapped model'),
    repacked: buffer('CPU_REPACK model'),
    kv: buffer('KV'),
    output: buffer('output'),
    compute: buffer('compute'),
    touched: touchedCompute(),
  }),
)
process.exit(0)
