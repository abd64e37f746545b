import type { Clock } from '../../base/clock.ts'
import { createId } from '../../base/ids.ts'
import type { LoadPlan } from '../engine.ts'
import { launchServer, type LaunchedServer } from '../supervision/launch-server.ts'
import { MLX_LAUNCHER } from './mlx-launcher.ts'
import { mlxOptions } from './mlx-options.ts'
import { cacheBytes } from './mlx-plan.ts'
import { MLX_VISION_LAUNCHER } from './mlx-vision-launcher.ts'
import { mlxStartFailure } from './start-failure.ts'

export interface MlxLaunch {
  /** Its Python. */
  python: string
  clock: Clock
  recordsDirectory: string | undefined
  logDirectory: string | undefined
  signal: AbortSignal
}

const LISTENING = /^listening on http:\/\/127\.0\.0\.1:(\d+)/
const DEFAULT_PREFILL_STEP = 512

/** Starts mlx_lm's server, or mlx_vlm's where images are to be seen. Nothing is fetched, whatever a model's files name. */
export async function launchMlx(
  plan: LoadPlan,
  { python, signal, ...places }: MlxLaunch,
): Promise<LaunchedServer> {
  const key = createId('')
  const threads = String(plan.threads)
  return await launchServer({
    ...places,
    command: python,
    args: ['-c', ...(plan.capabilities.images ? visionArguments(plan) : textArguments(plan))],
    label: plan.model,
    environment: {
      MODELYARD_SERVER_KEY: key,
      HF_HUB_OFFLINE: '1',
      TRANSFORMERS_OFFLINE: '1',
      HF_HUB_DISABLE_TELEMETRY: '1',
      OMP_NUM_THREADS: threads,
      OPENBLAS_NUM_THREADS: threads,
      PYTHONUNBUFFERED: '1',
    },
    key,
    listening: LISTENING,
    signal,
    failure: (exit) => mlxStartFailure(plan, exit),
  })
}

function visionArguments({ facts, spec, slots }: LoadPlan): string[] {
  const { adapter, prefillStep: step = DEFAULT_PREFILL_STEP } = mlxOptions(spec)
  return [MLX_VISION_LAUNCHER, JSON.stringify({ model: facts.path, adapter, slots, step })]
}

/** The cache of beginnings is bounded by what is booked for it, and holds one for each slot and those that go. */
function textArguments({ facts, spec, slots, contextSize }: LoadPlan): string[] {
  const { adapter, draft, prefillStep = DEFAULT_PREFILL_STEP } = mlxOptions(spec)
  const bytes = facts.safetensors === undefined ? 0 : cacheBytes(facts.safetensors, contextSize * slots)
  const named: Record<string, string | number | undefined> = {
    model: facts.path,
    'log-level': 'WARNING',
    'decode-concurrency': slots,
    'prompt-concurrency': Math.min(slots, 8),
    'prefill-step-size': prefillStep,
    'prompt-cache-size': 2 * slots,
    'prompt-cache-bytes': bytes,
    'adapter-path': adapter,
    'draft-model': draft,
  }
  const told = Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  )
  return [MLX_LAUNCHER, ...told]
}
