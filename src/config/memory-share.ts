import { formatBytes } from '../base/bytes.ts'
import type { MemoryShare } from './yard-configuration.ts'

/** `6 GiB`, or `75%`. */
export function shareText(share: MemoryShare): string {
  return 'bytes' in share ? formatBytes(share.bytes) : `${share.percent}%`
}

/** Whether one share is smaller than another, as far as that can be told without knowing the machine. */
export function isSurelyBelow(share: MemoryShare, other: MemoryShare): boolean {
  if ('bytes' in share) return 'bytes' in other && share.bytes < other.bytes
  return 'percent' in other && share.percent < other.percent
}
