import type { AnswerAction, DialectAnswer, DialectRequest } from '../dialect.ts'
import type { LoadModelOptions, YardPort } from '../yard-port.ts'
import type { AnswerShape } from './answer-shape.ts'
import { timestamp } from './lines.ts'

/** A request without a prompt, which loads a model, or unloads it when it shall be kept for no time. */
export interface LoadRequest {
  model: string
  request: DialectRequest
  shape: AnswerShape
  options: LoadOptions
}

/** What an empty request says of the load. */
export type LoadOptions = Pick<LoadModelOptions, 'keepAlive' | 'wish'>

/** Loads or unloads, as an empty request of this API asks. */
export async function loadOrUnload(
  port: YardPort,
  model: string,
  { keepAlive, wish }: LoadOptions,
  signal: AbortSignal,
): Promise<'load' | 'unload'> {
  if (keepAlive === 0) {
    await port.unloadModel(model)
    return 'unload'
  }
  await port.loadModel(model, {
    signal,
    ...(keepAlive !== undefined && { keepAlive }),
    ...(wish && { wish }),
  })
  return 'load'
}

/** One object, whether or not a stream was asked for: there is nothing to wait for in between. */
export function loadAnswer({ model, request, shape, options }: LoadRequest): AnswerAction {
  return {
    type: 'answer',
    answer: async (port, signal): Promise<DialectAnswer> => {
      const reason = await loadOrUnload(port, model, options, signal)
      const head = `"model":${JSON.stringify(model)},"created_at":"${timestamp(request.now())}"`
      const body = `{${head},${shape({ text: '' })},"done":true,"done_reason":"${reason}"}`
      return { contentType: 'application/json', body }
    },
  }
}
