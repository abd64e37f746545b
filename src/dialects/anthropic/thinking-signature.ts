import { createHash } from 'node:crypto'

/**
 * What clients keep beside a thought and send back with it; several drop thoughts without one (BR-42). It is never checked: thoughts
 * are the client's to change.
 */
export function thinkingSignature(thinking: string): string {
  return createHash('sha256').update(thinking).digest('base64')
}
