import type { CaptioningTask } from './captioning-task.ts'
import type { ChatTask } from './chat-task.ts'
import type { ClassificationTask } from './classification-task.ts'
import type { CompletionTask } from './completion-task.ts'
import type { DetectionTask } from './detection-task.ts'
import type { EmbeddingTask } from './embedding-task.ts'
import type { ImageTask } from './image-task.ts'
import type { RerankTask } from './rerank-task.ts'
import type { SpeechTask } from './speech-task.ts'
import type { TranscriptionTask } from './transcription-task.ts'

/** What is asked, whatever language it came in. */
export type Task =
  | ChatTask
  | CompletionTask
  | EmbeddingTask
  | RerankTask
  | TranscriptionTask
  | SpeechTask
  | ImageTask
  | ClassificationTask
  | DetectionTask
  | CaptioningTask

export type TaskKind = Task['kind']

/** Whether a task writes text, with sampling and all. */
export function writesText(task: Task): task is ChatTask | CompletionTask {
  return task.kind === 'chat' || task.kind === 'completion'
}
