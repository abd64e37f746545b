import type { ModelyardError } from '../../base/errors.ts'
import type { EndpointAbility } from '../../models/model-facts.ts'
import type { Task } from '../../tasks/task.ts'

/** What servers say of something that they cannot do at all, whatever the request: vLLM, llama.cpp, Ollama, OpenAI. */
const SAYINGS: readonly { name: string; asked: (task: Task) => boolean; says: RegExp }[] = [
  {
    name: 'tools',
    asked: (task) => task.kind === 'chat' && (task.tools?.length ?? 0) > 0,
    says: /not support (tools?|tool us|tool call|function call)|--enable-auto-tool-choice|--tool-call-parser|tools param requires/i,
  },
  {
    name: 'structuredOutput',
    asked: (task) => task.kind === 'chat' && task.format !== undefined,
    says: /(response_format|json_schema|structured outputs?)\S*( of type \S+)? (is|are) not supported|not support (structured output|response_format|json_schema)/i,
  },
  {
    name: 'logprobs',
    asked: (task) => (task.kind === 'chat' || task.kind === 'completion') && task.topLogprobs !== undefined,
    says: /logprobs\S* (is|are) not supported|not support (top_)?logprobs/i,
  },
  {
    name: 'images',
    asked: showsImages,
    says: /image (input )?(is|are) not supported|not support (image|vision)|not a multimodal model/i,
  },
]
const NO_SUCH_TASK = /not support (the )?(embeddings?|chat completions?|completions?)( api)?\b/i

/**
 * What a refusal tells of the endpoint and not of the request: a route that is not there, or a feature that is named as missing. Undefined
 * for everything that could be the request's fault.
 */
export function learnFromRefusal(task: Task, { details }: ModelyardError): EndpointAbility | undefined {
  const { status, reason = '' } = details as { status?: number; reason?: string }
  if (status === undefined) return undefined
  const name = isMissingRoute(status, reason) ? task.kind : missingFeature(task, reason)
  if (name === undefined) return undefined
  // Its words may repeat what a user wrote: they are not kept.
  return { name, has: false, source: `it refused it with HTTP ${status}` }
}

/** A 404 with words about a model is about the model. */
function isMissingRoute(status: number, reason: string): boolean {
  if (status === 405 || status === 501) return true
  if (status === 404) return !/model/i.test(reason)
  return status < 500 && NO_SUCH_TASK.test(reason)
}

function missingFeature(task: Task, reason: string): string | undefined {
  return SAYINGS.find(({ asked, says }) => says.test(reason) && asked(task))?.name
}

function showsImages(task: Task): boolean {
  if (task.kind !== 'chat') return false
  return task.messages.some(
    ({ content }) => typeof content !== 'string' && content.some(({ type }) => type === 'image'),
  )
}
