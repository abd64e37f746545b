import type { EngineCapabilities } from '../../src/engines/engine.ts'

/** An engine as the page describes it. */
export interface DocumentedEngine {
  name: string
  capabilities: EngineCapabilities
  /** What it does where more is known of a model than its engine. Default: nothing. */
  ifKnown?: readonly (keyof EngineCapabilities)[]
  /** What it runs, and where that comes from. */
  runs: string
  /** Where its models are in memory. */
  isolation: string
  /** By platform, in the order of {@link PLATFORMS}: `tested`, `not run`, `no`. */
  platforms: readonly [linux: string, linuxArm: string, mac: string, windows: string]
}

const PLATFORMS = ['Linux x64', 'Linux arm64', 'macOS arm64', 'Windows x64']

/** What each capability is, in words. */
const FEATURES: Record<Exclude<keyof EngineCapabilities, 'tasks'>, string> = {
  tools: 'tools (automatic, forced, parallel)',
  structuredOutput: 'JSON objects and JSON Schema',
  grammar: 'GBNF grammars',
  reasoning: 'reasoning apart from the text',
  logprobs: 'log-probabilities',
  promptLogprobs: 'log-probabilities of the prompt',
  prefill: 'continuing a last assistant message',
  infill: 'infill (prompt and suffix)',
  images: 'images (in messages, to be classified)',
  audio: 'sound in messages',
  tokenInput: 'token ids as input',
  echo: 'echo of the prompt',
  logitBias: 'logit bias',
  zeroShot: 'labels of one’s own (zero-shot classification)',
  imageEmbedding: 'embeddings of images',
  tokenizes: 'prompts rendered, counted and found too long here',
  namesStops: 'which stop string ended an answer',
  keepsPrefixes: 'slots keep exactly the beginnings that they are told to',
  parks: 'contexts of slots on disk',
  finishesAborted: 'an aborted run may be computed to its end (who asked is let go at once)',
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

const HEAD = `# Engines

What runs models, and what each can do. The tables are written by \`npm run docs\` from the capability fields that requests are checked with
(\`EngineCapabilities\` in \`src/engines/engine.ts\`): what is missing here is refused with \`unsupported\` before anything is loaded. What a model itself
cannot (a template without reasoning, a file without infill tokens) is missing in its own plan, too. Options: [configuration.md](configuration.md). An engine
of your own: [library.md](library.md). All engines keep one contract, \`modelyard/testing\`; each gap is listed with its reason in \`test/contracts/\`.
`

/** What is real code, and was never run with real weights: there are none to be had where this is developed. */
const UNVERIFIED = [
  'images in llama-server (`mmproj`): against a fake server only; no projector could be had',
  'LoRA adapters and draft models in mlx: the options are passed on, no such weights were at hand',
  'mlx on Apple silicon: the same code was run on the CPU of Linux; quantised mlx weights were not',
  'images in mlx: run with the real mlx_vlm 0.7.10 and tiny weights that the test writes (Qwen2-VL, LLaVA, Gemma 3, SmolVLM), on the CPU of Linux (`npm run test:vision`, docs/decisions/2026-12-01-mlx-vision.md); real weights, other kinds of models and Apple silicon were not at hand',
  'Kokoro’s voices and voices with several speakers in speech: real code, no such voice could be had',
  'multilingual Whisper in transformers (languages, their detection, translation): real code; the weights at hand know English only',
  'an abort while one of Whisper’s larger encoders runs in transformers: the client is let go within a quarter of a second, the slot is booked until the step is over; seen with the tiny one only',
  'classification, detection, captioning and embeddings of images in transformers: against graphs that the tests write; no weights could be had',
  'models that write about images and take a prompt (Florence-2, BLIP, Donut with a question) in transformers: not there',
  'images in sd-server: real code against a fake program that was written after the source of stable-diffusion.cpp (`examples/server`, commits of April to September 2026, among them 11bff8d, 3ca242e, d5b268d, 05a313f); no weights could be had. What decoding takes is estimated from logs in that project’s issues, what a step takes is a guess; then it is measured',
  'an abort in sd-server: who asked is let go at once; builds that say `cancel_generating: false` (all of these) make the one image that was begun to its end, and the next run waits for it; `unload --force` ends the process',
  'sd-server on a GPU: the device that `memory` names is the one its process sees; not run on any',
  'image to image: not there',
  'SGLang, LM Studio and clouds behind `upstream`: it was run against another Modelyard, a real vLLM 0.32 on a CPU (docs/decisions/2026-12-01-real-vllm.md) and fakes; none of these',
  'images in messages, rerank, transcription, speech and images behind `upstream`: run against another Modelyard (scripted models, Whisper, Piper, a fake sd-server), reranking, token ids and continued answers against llama.cpp’s own server, the rest against fakes that answer as vLLM, Jina and OpenAI document it; none of those',
  'vLLM in several processes as one worker (`start: {count: 2}`): run with a real vLLM 0.32 in two processes on one CPU; not on several GPUs',
  'llama-server compiled by `--from-source` (v0.4.0): compiled for real, whole (docs/decisions/2026-12-01-compiled-llama-server.md), and it runs; one of the tests of llama-server that were run on it fails: an answer that is no text, of a model of noise, ends with `engine_failed` there, and not with the wheel',
]

/** The page, whole. */
export function enginesPage(engines: readonly DocumentedEngine[]): string {
  const kinds = table(
    ['engine', 'runs', 'where its models are'],
    engines.map(({ name, runs, isolation }) => [`\`${name}\``, runs, isolation]),
  )
  const tasks = [...new Set(engines.flatMap(({ capabilities }) => capabilities.tasks))]
  const mark = (has: boolean): string => (has ? 'yes' : '–')
  const names = engines.map(({ name }) => `\`${name}\``)
  const taskRows = tasks.map((task) => [
    task,
    ...engines.map(({ capabilities }) => mark(capabilities.tasks.includes(task))),
  ])
  const featureRows = Object.entries(FEATURES).map(([feature, words]) => [
    words,
    ...engines.map(({ capabilities, ifKnown = [] }) =>
      ifKnown.includes(feature as keyof typeof FEATURES)
        ? 'if known'
        : mark(capabilities[feature as keyof typeof FEATURES]),
    ),
  ])
  const platformRows = PLATFORMS.map((platform, index) => [
    platform,
    ...engines.map(({ platforms }) => platforms[index] ?? 'no'),
  ])
  return `${HEAD}
${kinds}

## Tasks

${table(['task', ...names], taskRows)}

## Features

${table(['feature', ...names], featureRows)}

An upstream is asked for what has *yes* until it refuses it as such, or says that it does not have it; for what has *if known* where it says that it does, or the
model’s entry does ([configuration.md](configuration.md#models-of-other-servers)).

## Platforms

*tested*: everything in \`npm test\` ran there. *not run*: binaries exist, nothing was run. See [platforms.md](platforms.md).

${table(['platform', ...names], platformRows)}

## Unverified

${UNVERIFIED.map((line) => `- ${line}`).join('\n')}
`
}
