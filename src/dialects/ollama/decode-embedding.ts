import type { EmbeddingTask } from '../../tasks/embedding-task.ts'
import { decodeBody } from '../decode-model.ts'
import type { AnswerAction, DialectRequest, RunAction } from '../dialect.ts'
import {
  asArray,
  asString,
  invalidField,
  optionalBoolean,
  optionalNumber,
  optionalString,
  type Fields,
} from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import type { YardPort } from '../yard-port.ts'
import { decodeRunOptions } from './decode-keep-alive.ts'
import { decodeOptions } from './decode-options.ts'
import { EmbedAnswer, EmbeddingAnswer } from './encode-embedding.ts'
import { EMBED_FEATURE_FIELDS } from './feature-fields.ts'
import { fitInputs, requireContext } from '../fit-context.ts'
import { loadOrUnload } from './load-model.ts'
import { decodeName } from './model-name.ts'
import { EMBED_PARAMETERS, EMBEDDINGS_PARAMETERS } from './parameters.ts'

/** `POST /api/embed`; without a text it loads or unloads. */
export function decodeEmbed(request: DialectRequest): RunAction | AnswerAction {
  const body = decodeBody(request.body)
  const model = decodeName(body)
  refuseUnsupported(body, EMBED_PARAMETERS)
  const options = decodeRunOptions(body, request.headers)
  const inputs = decodeInputs(body['input'])
  if (inputs.length === 0) return loadOnly(model, options.keepAlive, { model, embeddings: [] })
  const encoder = new EmbedAnswer(model, inputs.length)
  // The reference has it on unless it is switched off; the answer says what was cut (E5).
  const truncate = optionalBoolean(body, 'truncate') ?? true
  const action = runAction(model, body, decodeEmbedTask(body, inputs), { options, encoder })
  if (truncate) cutWhatIsTooLong(action, encoder)
  return action
}

/** `POST /api/embeddings`, the older route for one text. */
export function decodeEmbeddings(request: DialectRequest): RunAction | AnswerAction {
  const body = decodeBody(request.body)
  const model = decodeName(body)
  refuseUnsupported(body, EMBEDDINGS_PARAMETERS)
  const options = decodeRunOptions(body, request.headers)
  const prompt = optionalString(body, 'prompt') ?? ''
  if (prompt === '') return loadOnly(model, options.keepAlive, { embedding: [] })
  const task: EmbeddingTask = { kind: 'embedding', inputs: [prompt] }
  return runAction(model, body, task, { options, encoder: new EmbeddingAnswer() })
}

/** A text or several; no text at all is a load. @throws invalid_request that names a wrong input by its index */
function decodeInputs(value: unknown): string[] {
  if (value === undefined || value === null || value === '') return []
  if (typeof value === 'string') return [value]
  return asArray(value, 'input').map((entry, index) => {
    const input = asString(entry, `input[${index}]`)
    if (input === '') throw invalidField(`input[${index}]`, `'input[${index}]' is an empty string.`)
    return input
  })
}

function decodeEmbedTask(body: Fields, inputs: string[]): EmbeddingTask {
  const task: EmbeddingTask = { kind: 'embedding', inputs }
  const dimensions = optionalNumber(body, 'dimensions', { least: 0, integer: true })
  // 0 is how clients in Go say nothing.
  if (dimensions !== undefined && dimensions > 0) task.dimensions = dimensions
  return task
}

function runAction(
  model: string,
  body: Fields,
  task: EmbeddingTask,
  { options, encoder }: Pick<RunAction, 'options' | 'encoder'>,
): RunAction {
  const { contextLength } = decodeOptions(body)
  const action: RunAction = {
    type: 'run',
    model,
    tasks: [task],
    options,
    encoder,
    featureFields: EMBED_FEATURE_FIELDS,
  }
  if (contextLength === undefined) return action
  action.prepare = async (port, signal) => requireContext(contextLength, { port, model, signal })
  return action
}

function cutWhatIsTooLong(action: RunAction, encoder: EmbedAnswer): void {
  const { model, tasks } = action
  const before = action.prepare
  action.prepare = async (port: YardPort, signal: AbortSignal): Promise<void> => {
    await before?.(port, signal)
    for (const [index, task] of tasks.entries()) {
      if (task.kind !== 'embedding') continue
      const texts = task.inputs.filter((input) => typeof input === 'string')
      const { inputs, cut } = await fitInputs(texts, { port, model, signal })
      tasks[index] = { ...task, inputs }
      encoder.noteCut(cut)
    }
  }
}

function loadOnly(model: string, keepAlive: number | undefined, answer: object): AnswerAction {
  return {
    type: 'answer',
    answer: async (port, signal) => {
      await loadOrUnload(port, model, keepAlive, signal)
      return { contentType: 'application/json', body: JSON.stringify(answer) }
    },
  }
}
