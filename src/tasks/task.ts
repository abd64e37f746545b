import type { ChatTask } from './chat-task.ts'
import type { CompletionTask } from './completion-task.ts'
import type { EmbeddingTask } from './embedding-task.ts'
import type { RerankTask } from './rerank-task.ts'

/** What is asked, whatever language it came in. */
export type Task = ChatTask | CompletionTask | EmbeddingTask | RerankTask

export type TaskKind = Task['kind']
