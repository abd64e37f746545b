import type { RunRequest } from '../../runs/run.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { DialectRequest, FeatureFields, RunAction } from '../dialect.ts'
import { optionalBoolean, type Fields } from '../fields.ts'
import type { YardPort } from '../yard-port.ts'
import type { AnswerEnvelope, AnswerShape } from './answer-shape.ts'
import { WholeAnswer } from './encode-answer.ts'
import { AnswerLines } from './encode-answer-stream.ts'
import { fitConversation } from '../fit-context.ts'
import { wishOf } from './decode-options.ts'

/** A decoded request of generate or chat. */
export interface AnswerRequest {
  request: DialectRequest
  body: Fields
  model: string
  options: Pick<RunRequest, 'priority' | 'keepAlive' | 'session'>
  task: ChatTask | CompletionTask
  /** `num_ctx` */
  contextLength: number | undefined
  shape: AnswerShape
  featureFields: FeatureFields
  ending?: AnswerEnvelope['ending']
}

/** The action of a request that generates text: checks what depends on the model, then runs. */
export function answerAction(decoded: AnswerRequest): RunAction {
  const { request, body, model, task, shape, contextLength, options, featureFields } = decoded
  const truncate = optionalBoolean(body, 'truncate') ?? false
  const tasks = [task]
  let dropped = 0
  const ending = endingOf(decoded, truncate, () => dropped)
  const envelope: AnswerEnvelope = {
    model,
    now: request.now,
    shape,
    ...(ending === undefined ? {} : { ending }),
  }
  const streamed = optionalBoolean(body, 'stream') ?? true
  const action: RunAction = {
    type: 'run',
    model,
    tasks,
    options: { ...options, ...wishOf(contextLength) },
    featureFields,
    encoder: streamed ? new AnswerLines(envelope) : new WholeAnswer(envelope),
  }
  if (!truncate || task.kind !== 'chat') return action
  action.prepare = async (port: YardPort, signal: AbortSignal): Promise<void> => {
    // What fits is known only when the context that is wished for is there.
    if (contextLength !== undefined) await port.loadModel(model, { signal, ...wishOf(contextLength) })
    const fitted = await fitConversation(task, { port, model, signal })
    tasks[0] = { ...task, messages: fitted.messages }
    dropped = fitted.dropped
  }
  return action
}

/** What was left out is said in the answer, never done in silence (E5). */
function endingOf(
  { ending }: AnswerRequest,
  truncate: boolean,
  dropped: () => number,
): AnswerEnvelope['ending'] {
  if (!truncate) return ending
  return (text) => {
    const said = dropped() === 0 ? '' : `,"truncated_messages":${dropped()}`
    return (ending?.(text) ?? '') + said
  }
}
