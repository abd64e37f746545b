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
import { decodeOptions, wishOf } from './decode-options.ts'
import { EmbedAnswer, EmbeddingAnswer } from './encode-embedding.ts'
import { EMBED_FEATURE_FIELDS } from './feature-fields.ts'
import { fitInputs } from '../fit-context.ts'
import { loadOrUnload, type LoadOptions } from './load-model.ts'
import { decodeName } from './model-name.ts'
import { EMBED_PARAMETERS, EMBEDDINGS_PARAMETERS } from './parameters.ts'

/** `POST /api/embed`; without a text it loads or unloads. */
export function decodeEmbed(request: DialectRequest): RunAction | AnswerAction {
  const body = decodeBody(request.body)
  const model = decodeName(body)
  refuseUnsupported(body, EMBED_PARAMETERS)
  const options = decodeRunOptions(body, request.headers)
  const inputs = decodeInputs(body['input'])
  const wished = { ...options, ...wishOf(decodeOptions(body).contextLength) }
  if (inputs.length === 0) return loadOnly(model, wished, { model, embeddings: [] })
  const encoder = new EmbedAnswer(model, inputs.length)
  // The reference has it on unless it is switched off; the answer says what was cut (E5).
  const truncate = optionalBoolean(body, 'truncate') ?? true
  const action = runAction(model, decodeEmbedTask(body, inputs), { options: wished, encoder })
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
  const wished = { ...options, ...wishOf(decodeOptions(body).contextLength) }
  if (prompt === '') return loadOnly(model, wished, { embedding: [] })
  const task: EmbeddingTask = { kind: 'embedding', inputs: [prompt] }
  return runAction(model, task, { options: wished, encoder: new EmbeddingAnswer() })
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
  task: EmbeddingTask,
  { options, encoder }: Pick<RunAction, 'options' | 'encoder'>,
): RunAction {
  return { type: 'run', model, tasks: [task], options, encoder, featureFields: EMBED_FEATURE_FIELDS }
}

function cutWhatIsTooLong(action: RunAction, encoder: EmbedAnswer): void {
  const { model, tasks } = action
  const { wish } = action.options
  action.prepare = async (port: YardPort, signal: AbortSignal): Promise<void> => {
    // What fits is known only when the context that is wished for is there.
    if (wish !== undefined) await port.loadModel(model, { signal, wish })
    for (const [index, task] of tasks.entries()) {
      if (task.kind !== 'embedding') continue
      const texts = task.inputs.filter((input) => typeof input === 'string')
      const { inputs, cut } = await fitInputs(texts, { port, model, signal })
      tasks[index] = { ...task, inputs }
      encoder.noteCut(cut)
    }
  }
}

function loadOnly(model: string, options: LoadOptions, answer: object): AnswerAction {
  return {
    type: 'answer',
    answer: async (port, signal) => {
      await loadOrUnload(port, model, options, signal)
      return { contentType: 'application/json', body: JSON.stringify(answer) }
    },
  }
}
