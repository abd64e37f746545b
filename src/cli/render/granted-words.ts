import type { LoadWish } from '../../runs/load-wish.ts'

/**
 * What a copy in memory has where that is not what was asked for: `, with 8192 tokens per slot, as it was trained for no more (16384 asked)`; empty where
 * it is. A load grants less than was asked only where the model was trained for less (M3).
 */
export function grantedWords(granted: Required<LoadWish> | undefined, asked: LoadWish): string {
  if (granted === undefined) return ''
  const words = [contextWords(granted.context, asked.context), slotWords(granted.slots, asked.slots)]
  const told = words.filter((part) => part !== undefined)
  return told.length === 0 ? '' : `, with ${told.join(' and ')}`
}

function contextWords(granted: number, asked: number | undefined): string | undefined {
  if (asked === undefined || asked === granted) return undefined
  const limit = granted < asked ? ', as it was trained for no more' : ''
  return `${granted} tokens per slot${limit} (${asked} asked)`
}

function slotWords(granted: number, asked: number | undefined): string | undefined {
  return asked === undefined || asked === granted ? undefined : `${granted} slots (${asked} asked)`
}
