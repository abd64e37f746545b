import type { ModelyardError } from '../../base/errors.ts'
import type { EndpointAbility } from '../../models/model-facts.ts'
import type { ContentPart } from '../../tasks/message.ts'
import type { Task, TaskKind } from '../../tasks/task.ts'

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
    asked: (task) => hasPart(task, 'image'),
    says: /image (input )?(is|are) not supported|not support (image|vision)|not a multimodal model|at most 0 image|image_url is only supported|unknown variant .image_url|required for image input/i,
  },
  {
    name: 'audio',
    asked: (task) => hasPart(task, 'audio'),
    says: /audio (input )?(is|are) not supported|not support (audio|input_audio)|at most 0 audio|unknown variant .input_audio/i,
  },
  {
    name: 'prefill',
    asked: (task) => task.kind === 'chat' && task.messages.at(-1)?.role === 'assistant',
    says: /not support (assistant message )?prefill|prefill is not supported/i,
  },
  {
    name: 'tokenInput',
    asked: (task) => task.kind === 'completion' && typeof task.prompt !== 'string',
    says: /not support token (input|ids)/i,
  },
]
/** What an endpoint calls a task that it does not do, behind "does not support". */
const TASK_NAMES: Partial<Record<TaskKind, string>> = {
  // Not of its template alone.
  chat: 'chat( completions?| tasks)?(?! templ)',
  completion: '(completions?|generate)',
  embedding: 'embeddings?',
  rerank: '(score|rerank(ing)?|ranking)',
  transcription: '(transcriptions?|translations?|audio)',
  speech: '(speech|text.to.speech|tts)',
  image: 'images? (generations?|tasks)',
}
/** LM Studio's, with a 200. */
const NO_SUCH_ROUTE = /unexpected endpoint or method/i

/**
 * What a refusal tells of the endpoint and not of the request: a route that is not there, or a feature that is named as missing. Undefined
 * for everything that could be the request's fault.
 */
export function learnFromRefusal(task: Task, { details }: ModelyardError): EndpointAbility | undefined {
  const { status, reason = '' } = details as { status?: number; reason?: string }
  if (status === undefined) return undefined
  const name =
    missingFeature(task, reason) ?? (isMissingRoute(task, status, reason) ? nameOf(task) : undefined)
  if (name === undefined) return undefined
  // Its words may repeat what a user wrote: they are not kept.
  return { name, has: false, source: `it refused it with HTTP ${status}` }
}

/** Translating has a route of its own: one who does not have it may transcribe nevertheless. */
function nameOf(task: Task): string {
  return task.kind === 'transcription' && task.translate === true ? 'translation' : task.kind
}

/** A 404 with words about a model is about the model; a 501 with words about something else is about that. */
function isMissingRoute(task: Task, status: number, reason: string): boolean {
  if (status === 405) return true
  if (status === 404) return !/model/i.test(reason)
  if (status === 501 && reason === '') return true
  return (status < 500 || status === 501) && (NO_SUCH_ROUTE.test(reason) || isNamed(task.kind, reason))
}

function isNamed(kind: TaskKind, reason: string): boolean {
  const name = TASK_NAMES[kind]
  return name !== undefined && new RegExp(`not support (the )?${name}\\b`, 'i').test(reason)
}

function missingFeature(task: Task, reason: string): string | undefined {
  return SAYINGS.find(({ asked, says }) => says.test(reason) && asked(task))?.name
}

function hasPart(task: Task, type: ContentPart['type']): boolean {
  if (task.kind !== 'chat') return false
  return task.messages.some(
    ({ content }) => typeof content !== 'string' && content.some((part) => part.type === type),
  )
}
