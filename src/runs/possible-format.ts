import type { ChatTask } from '../tasks/chat-task.ts'

let formats: typeof import('../grammar/require-format.ts') | undefined

/**
 * Refuses a form that no engine could keep to. The compiler of forms is imported with the first of them: it is a tenth of what a server would
 * import at its start. @throws ModelyardError
 */
export async function requirePossibleFormat(task: ChatTask): Promise<void> {
  formats ??= await import('../grammar/require-format.ts')
  formats.requireFormat(task)
}
