import type { ModelyardError } from '../../base/errors.ts'
import type { LoadFailureClass, LoadPlan } from '../engine.ts'
import { firstSign, type LogSigns } from '../supervision/start-failure.ts'
import { classifyExit, describeExit, endedBeforeReady, type WorkerExit } from '../supervision/worker-exit.ts'

/** What Python's last words mean. */
const SIGNS: LogSigns = [
  ['missing_engine', /ModuleNotFoundError|No module named|ImportError/],
  ['out_of_memory', /MemoryError|bad_alloc|\[metal::malloc\]|Insufficient Memory/i],
  [
    'bad_file',
    /load_safetensors|No safetensors found|safetensors|Missing \d+ parameters|not in model|JSONDecodeError/i,
  ],
  ['bad_file', /Model type .* not supported|tokenizer/i],
  ['bad_option', /unrecognized arguments|invalid \w+ value|adapter/i],
]

const WHAT_NOW: Partial<Record<LoadFailureClass, string>> = {
  missing_engine: ' Install it anew: modelyard engines install mlx',
  out_of_memory: ' Use a smaller context, fewer slots or a smaller model.',
  bad_file:
    ' Its folder is damaged, incomplete, or of a kind that this version of mlx_lm does not know; fetch it anew.',
  bad_option: ' Look at the model’s options.',
  crash: ' The last log lines are in the details.',
}

/** Some of mlx_vlm's models prepare images by it; it is not installed with the others (900 MB). */
const NEEDS_TORCH = /requires? (the )?(PyTorch|Torchvision)|No module named '(torch|torchvision)'/i
const ADD_TORCH =
  ' Its images are prepared by PyTorch: name a Python that has mlx-vlm, torch and torchvision (option python), or take another model.'

/**
 * The error of a load whose worker ended before it listened. It is not read as other servers' ends are (`serverNotStarted`), the exit before the log:
 * Python names its error, and an import that failed may speak of memory ("cannot allocate memory in static TLS block").
 */
export function mlxStartFailure({ model }: LoadPlan, exit: WorkerExit): ModelyardError {
  const log = exit.logTail.join('\n')
  const ended = exit.ended === undefined && exit.error === undefined && exit.signal === null
  const told = ended ? firstSign(SIGNS, exit.logTail) : undefined
  const failure = told ?? classifyExit(exit)
  const complaint = exit.logTail.findLast((line) => /^\w*(Error|Exception)\b/.test(line))
  const words = complaint === undefined ? '' : ` (${complaint})`
  const next = NEEDS_TORCH.test(log) ? ADD_TORCH : (WHAT_NOW[failure] ?? '')
  const message = `"${model}" could not be loaded: its mlx worker ${describeExit(exit)}${words}.${next}`
  return endedBeforeReady(message, failure, exit)
}
