import type { EndpointAbility } from '../../models/model-facts.ts'

interface KnownServer {
  /** For people. */
  name: string
  /** What it does with any model of text. */
  has: readonly string[]
  /** A last assistant message is continued when a request says so; others continue it by themselves. */
  marksContinuation?: true
  /** Reranking gives the model's own numbers instead of 0…1. */
  ranksRaw?: true
}

/** By what a server's list of models calls itself (`owned_by`). Source: their own documentation of these requests. */
const SERVERS: Readonly<Record<string, KnownServer>> = {
  vllm: { name: 'vLLM', has: ['prefill', 'tokenInput'], marksContinuation: true },
  sglang: { name: 'SGLang', has: ['prefill', 'tokenInput'], marksContinuation: true },
  llamacpp: { name: 'llama.cpp', has: ['prefill', 'tokenInput'], ranksRaw: true },
}

function serverOf(ownedBy: string | undefined): KnownServer | undefined {
  return ownedBy !== undefined && Object.hasOwn(SERVERS, ownedBy) ? SERVERS[ownedBy] : undefined
}

/** What models of a known server can, whatever they are. */
export function abilitiesOfServer(ownedBy: string | undefined): EndpointAbility[] {
  const server = serverOf(ownedBy)
  if (server === undefined) return []
  return server.has.map((name) => ({ name, has: true, source: `it is served by ${server.name}` }))
}

export function marksContinuation(ownedBy: string | undefined): boolean {
  return serverOf(ownedBy)?.marksContinuation === true
}

export function ranksRaw(ownedBy: string | undefined): boolean {
  return serverOf(ownedBy)?.ranksRaw === true
}
