#!/usr/bin/env node
// An sd-server (stable-diffusion.cpp, examples/server) as its source has it in 2026: flags, log lines, routes, errors, one picture after the
// other, no way to stop one. The model's file says what it does: the word after `{"mode":"` in it. Pictures have the colour of their seed.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { crc32, deflateSync } from 'node:zlib'

const args = process.argv.slice(2)
if (args[0] === '--version') {
  console.log('stable-diffusion.cpp version unknown, commit 6b3edaa')
  process.exit(0)
}

const VALUED =
  '--listen-ip --listen-port -m --diffusion-model --vae --taesd --clip_l --clip_g --t5xxl --llm -t --lora-model-dir'.split(
    ' ',
  )
const options = {}
for (let at = 0; at < args.length; at++) {
  if (VALUED.includes(args[at])) options[args[at]] = args[++at]
  else if (args[at] === '--diffusion-fa') options[args[at]] = true
  else fail(`error: unknown argument: ${args[at]}`)
}
const path = options['-m'] ?? options['--diffusion-model']
if (path === undefined) fail('error: the following arguments are required: model_path/diffusion_model')
const mode = /\{"mode":"([a-z-]*)"/.exec(readFileSync(path, 'latin1'))?.[1] ?? 'damaged'

const info = (text) => console.log(`[INFO   ] stable-diffusion.cpp:183  - ${text}`)
const error = (text) => console.error(`[ERROR  ] stable-diffusion.cpp:410  - ${text}`)

function fail(text) {
  error(text)
  process.exit(1)
}

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const never = () => new Promise(() => setInterval(() => undefined, 1000))
const bar = (done, all, speed) => process.stdout.write(`\r  |####>     | ${done}/${all} - ${speed}\u001B[K`)

if (mode === 'ignores-sigterm') process.on('SIGTERM', () => undefined)
info(`loading model from '${path}'`)
if (mode === 'damaged') {
  error(`get sd version from file failed: '${path}'`)
  fail('new_sd_ctx_t failed')
}
if (mode === 'wrong-flag') fail('error: unknown argument: --vae')
if (mode === 'no-memory') {
  error('alloc params backend buffer failed, num_tensors = 686')
  fail('new_sd_ctx_t failed')
}
if (mode === 'loads-slowly') for (let tensor = 100; tensor <= 1000; tensor += 100) { bar(tensor, 1131, '1.66GB/s'); await wait(100) } // prettier-ignore
if (mode === 'never-ready') await never()

const jobs = new Map()
const queue = []
let made = 0
let running = false

/** 256 pixels are as quick as 4,096: what takes time is the number of steps, 10 ms each. */
async function work() {
  if (running) return
  running = true
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    job.status = 'generating'
    job.started = now()
    await generate(job)
    job.completed = now()
  }
  running = false
}

async function generate(job) {
  const { width, height, seed, sample_params: sampling } = job.body
  info(`generate_image ${width}x${height}`)
  info(`generating image: 1/1 - seed ${seed}`)
  const steps = Math.max(1, Math.min(100, sampling?.sample_steps ?? 20))
  for (let step = 1; step <= steps && !job.isCut; step++) {
    if (mode === 'hangs' && made > 0) await never()
    if (mode === 'stands-still' && made > 0) for (;;);
    if (mode === 'dies' && made > 0) process.kill(process.pid, 'SIGKILL')
    await wait(10)
    bar(step, steps, '1.52s/it')
  }
  process.stdout.write('\n')
  made++
  if (job.isCut) {
    job.status = 'cancelled'
    return
  }
  if (mode === 'fails' && made > 1) {
    error('vae: failed to allocate the compute buffer')
    job.status = 'failed'
    job.error = { code: 'generation_failed', message: 'generate_image returned no results' }
    return
  }
  info('generate_image completed in 4.96s')
  job.status = 'completed'
  const [wide, high] = mode === 'rounds-up' && made > 1 ? [width + 8, height] : [width, height]
  const bytes = mode === 'no-picture' && made > 1 ? Buffer.from('nothing') : png(wide, high, seed)
  job.result = { output_format: 'png', images: [{ index: 0, b64_json: bytes.toString('base64') }] }
}

const now = () => Math.floor(Date.now() / 1000)

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

/** One colour, one bit a pixel: the seed is its palette. */
function png(width, height, seed) {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([1, 3, 0, 0, 0], 8)
  const palette = Buffer.alloc(3)
  palette.writeUIntBE(seed % 2 ** 24, 0, 3)
  const pixels = deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * height))
  const sign = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([sign, chunk('IHDR', header), chunk('PLTE', palette), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]) // prettier-ignore
}

const capabilities = () => ({
  model: { name: 'model', stem: 'model', path: mode === 'foreign' ? '/somewhere/else' : path },
  supported_modes: mode === 'video' ? ['vid_gen'] : ['img_gen'],
  features: { cancel_queued: true, cancel_generating: mode === 'can-cancel' },
  samplers: ['euler', 'euler_a', 'heun'],
  schedulers: ['discrete', 'karras'],
  limits: { min_width: 64, max_width: 4096, min_height: 64, max_height: 4096, max_batch_count: 8, max_queue_size: 64 },
}) // prettier-ignore

function describe({
  id,
  status,
  created,
  started = null,
  completed = null,
  result = null,
  error: why = null,
}) {
  const position = queue.findIndex((job) => job.id === id) + 1
  return {
    id,
    kind: 'img_gen',
    status,
    created,
    started,
    completed,
    queue_position: position,
    result,
    error: why,
  }
}

function submit(body) {
  if (mode === 'refuses' && made > 0) return [400, { error: 'invalid generation parameters' }]
  const job = { id: `job_${now().toString(16)}_${jobs.size}`, status: 'queued', created: now(), body }
  jobs.set(job.id, job)
  queue.push(job)
  void work()
  const { id, created } = job
  return [202, { id, kind: 'img_gen', status: 'queued', created, poll_url: `/sdcpp/v1/jobs/${id}` }]
}

function cancel(job) {
  if (job.status === 'queued') {
    queue.splice(queue.indexOf(job), 1)
    job.status = 'cancelled'
  } else if (job.status === 'generating') {
    if (mode !== 'can-cancel')
      return [409, { error: 'job is currently generating and cannot be interrupted yet' }]
    job.isCut = true
  }
  return [200, describe(job)]
}

function answer(method, url, body) {
  if (mode === 'too-old' && url.startsWith('/sdcpp/')) return [404, {}]
  if (url === '/v1/models')
    return [200, { data: [{ id: 'sd-cpp-local', object: 'model', owned_by: 'local' }] }]
  if (url === '/sdcpp/v1/capabilities') return [200, capabilities()]
  // For tests alone: what it was asked for, and how it was started.
  if (url === '/bodies') return [200, { args, environment: process.env, bodies: [...jobs.values()].map((job) => ({ ...job.body, status: job.status })) }] // prettier-ignore
  if (url === '/sdcpp/v1/img_gen' && method === 'POST') return submit(JSON.parse(body))
  const [, id, verb] = /^\/sdcpp\/v1\/jobs\/([\w-]+)(\/cancel)?$/.exec(url) ?? []
  if (id === undefined) return [404, {}]
  const job = jobs.get(id)
  if (job === undefined) return [404, { error: 'job not found' }]
  return verb === undefined ? [200, describe(job)] : cancel(job)
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (piece) => chunks.push(piece))
  request.on('end', () => {
    const [status, value] = answer(request.method, request.url, Buffer.concat(chunks).toString())
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  })
})

// As the real one: it says that it listens before it does, and ends as if all were well where it cannot.
const port = Number(options['--listen-port'])
console.log(`[INFO   ] main.cpp:112  - listening on: ${options['--listen-ip']}:${port}`)
if (mode === 'port-taken') process.exit(0)
if (mode === 'listens-late') await wait(300)
server.on('error', () => process.exit(0))
server.listen(port, options['--listen-ip'])
