import type { ModelDefaults } from '../../models/model-spec.ts'
import type { ImageTask } from '../../tasks/image-task.ts'
import type { RerankTask } from '../../tasks/rerank-task.ts'
import { soundFormatOf } from '../../tasks/sound-format.ts'
import type { SpeechTask } from '../../tasks/speech-task.ts'
import type { Task } from '../../tasks/task.ts'
import type { TranscriptionTask } from '../../tasks/transcription-task.ts'
import { FormBody } from './form-body.ts'

/** Tasks that upstreams are asked for and that are neither text nor vectors. */
export type OtherTask = RerankTask | TranscriptionTask | SpeechTask | ImageTask

/** A request for one of them: the path after the endpoint's beginning, and JSON (what is undefined is not sent) or a form. */
export interface TaskRequest {
  path: '/rerank' | '/audio/transcriptions' | '/audio/translations' | '/audio/speech' | '/images/generations'
  body: Record<string, unknown> | FormBody
  /** Content types that are read, where they are others than those of all answers. */
  accept?: string
}

export interface TaskSettings {
  remoteModel: string
  defaults: ModelDefaults
  /** Without the form of answer that older and newer models of OpenAI's API do not know each other's of. Default false. */
  isPlain?: boolean
}

const OTHER_KINDS: ReadonlySet<string> = new Set<OtherTask['kind']>([
  'rerank',
  'transcription',
  'speech',
  'image',
])

export function isOtherTask(task: Task): task is OtherTask {
  return OTHER_KINDS.has(task.kind)
}

/** The task in the words of OpenAI's API; reranking in those of Jina and Cohere, which vLLM, llama.cpp's server and Modelyard speak, too. */
export function taskRequest(task: OtherTask, settings: TaskSettings): TaskRequest {
  if (task.kind === 'rerank') return rerankRequest(task, settings)
  if (task.kind === 'transcription') return transcriptionRequest(task, settings)
  return task.kind === 'speech' ? speechRequest(task, settings) : imageRequest(task, settings)
}

/** All are wanted: some servers give the best few where nobody says how many. */
function rerankRequest({ query, documents }: RerankTask, { remoteModel }: TaskSettings): TaskRequest {
  return { path: '/rerank', body: { model: remoteModel, query, documents, top_n: documents.length } }
}

/** Times of segments come with `verbose_json` alone, which some models do not write. */
function transcriptionRequest(
  { audio, language, translate = false, prompt, temperature }: TranscriptionTask,
  { remoteModel, isPlain = false }: TaskSettings,
): TaskRequest {
  const fields = {
    model: remoteModel,
    response_format: isPlain ? 'json' : 'verbose_json',
    // The language of a translation is what the model hears, and is not asked for by that route.
    language: translate ? undefined : language,
    prompt,
    temperature: temperature?.toString(),
  }
  const format = soundFormatOf(audio) ?? 'wav'
  const upload = {
    field: 'file',
    name: `sound.${format}`,
    mediaType: `audio/${MEDIA[format] ?? format}`,
    data: audio,
  }
  return {
    path: translate ? '/audio/translations' : '/audio/transcriptions',
    body: new FormBody(fields, upload),
  }
}

const MEDIA: Readonly<Record<string, string>> = { mp3: 'mpeg', m4a: 'mp4' }

function speechRequest(
  { text, format, voice, speed }: SpeechTask,
  { remoteModel }: TaskSettings,
): TaskRequest {
  return {
    path: '/audio/speech',
    accept: '*/*',
    body: { model: remoteModel, input: text, voice, response_format: format, speed },
  }
}

/** `negative_prompt`, `steps`, `seed` and `cfg_scale` are Modelyard's own: OpenAI's models refuse them, and are asked for none unless a user does. */
function imageRequest(
  task: ImageTask,
  { remoteModel, defaults, isPlain = false }: TaskSettings,
): TaskRequest {
  const { prompt, count, width, height, negativePrompt, steps, guidance, seed = defaults.seed } = task
  return {
    path: '/images/generations',
    body: {
      model: remoteModel,
      prompt,
      n: count,
      size: width === undefined ? undefined : `${width}x${height}`,
      // Where it is left out, older models answer with addresses, newer ones with data.
      response_format: isPlain ? undefined : 'b64_json',
      negative_prompt: negativePrompt,
      steps,
      seed,
      cfg_scale: guidance,
    },
  }
}

/** Whether an endpoint refused the form of answer, not the task: it is asked once more without it. */
export function refusesForm(task: Task, reason: unknown): boolean {
  if (task.kind !== 'transcription' && task.kind !== 'image') return false
  return typeof reason === 'string' && /response_?format|verbose_json|b64_json/i.test(reason)
}
