import { isIP } from 'node:net'
import { SystemClock } from '../../base/clock.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import type { ModelListing } from '../../dialects/yard-port.ts'
import { ArtifactStore } from '../../models/artifact-store.ts'
import { ModelInspector } from '../../models/inspect-model.ts'
import type { Yard } from '../../yard.ts'
import type { CommandContext } from '../command-context.ts'
import { reachable } from '../reachable-address.ts'

/** Tells where the server listens: programs read this line, it ends with the address. */
export async function announceAddress(
  { out }: CommandContext,
  yard: Yard,
  url: string,
  json: boolean,
): Promise<void> {
  const { version, pid, models } = yard.state()
  if (json) return await out.line(JSON.stringify({ url, pid, version, models: models.map(({ id }) => id) }))
  await out.line(`Modelyard ${version} listens on ${url}`)
}

/** Tells what is served and how to try it. */
export async function announceModels(
  { out, err }: CommandContext,
  yard: Yard,
  url: string,
  named: readonly string[],
): Promise<void> {
  const { models } = yard.state()
  await out.line(`Models: ${describeModels(models) || 'none yet (modelyard pull smollm2)'}`)
  for (const { id, state, problem } of models)
    if (state === 'missing') await err.line(`warning: "${id}": ${problem}`)
  const ids = models.flatMap(({ id, state }) => (state === 'missing' ? [] : [id]))
  const model = await firstChatModel(yard.configuration, [...named.filter((id) => ids.includes(id)), ...ids])
  if (model !== undefined) await out.line(`Try it:\n${curlLine(url, model, hasKeys(yard.configuration))}`)
}

/** `a, b (the same file as a), c (missing)` */
export function describeModels(models: readonly Pick<ModelListing, 'id' | 'state' | 'sameFileAs'>[]): string {
  const described = models.map(({ id, state, sameFileAs }) => {
    if (state === 'missing') return `${id} (missing)`
    return sameFileAs === undefined ? id : `${id} (the same file as ${sameFileAs})`
  })
  return described.join(', ')
}

/** The first of these that can chat, judged from its file where it is here; one that is not here yet comes after those. */
async function firstChatModel(
  { models, directories }: YardConfiguration,
  ids: readonly string[],
): Promise<string | undefined> {
  const store = new ArtifactStore({ folder: directories.models, clock: new SystemClock() })
  let unseen: string | undefined
  for (const id of ids) {
    const spec = models.find((candidate) => candidate.id === id)
    if (spec !== undefined && spec.source === undefined) return id
    const source = spec?.source ?? id
    const path = await store.locate(source).catch(() => undefined)
    const facts =
      path === undefined ? undefined : await new ModelInspector().inspect(path).catch(() => undefined)
    if (facts?.purpose === 'generation') return id
    if (path === undefined) unseen ??= id
  }
  return unseen
}

/** One line that works when it is pasted into a shell; greedy, so that it gives the same answer each time. */
export function curlLine(url: string, model: string, keys: boolean): string {
  const body = JSON.stringify({
    model,
    temperature: 0,
    messages: [{ role: 'user', content: 'What is the capital of France? Answer in one word.' }],
  })
  const key = keys ? ` -H "authorization: Bearer $MODELYARD_API_KEY"` : ''
  return `curl ${reachable(url)}/v1/chat/completions${key} -H 'content-type: application/json' -d '${body}'`
}

function hasKeys({ server: { keys } }: YardConfiguration): boolean {
  return keys.inference.length + keys.admin.length > 0
}

/** A server that others can reach and that asks nobody for a key is said so, loudly (BR-46). */
export async function warnWhenOpen({ err }: CommandContext, configuration: YardConfiguration): Promise<void> {
  const { host } = configuration.server
  if (isLoopback(host) || hasKeys(configuration)) return
  const warning = err.colors.bold(err.colors.yellow('WARNING'))
  await err.line(
    `${warning}: the server listens on ${host} without an API key: everybody who reaches this machine can use and control it.\n` +
      '         Set server.keys in the configuration (or MODELYARD_API_KEY), or listen on 127.0.0.1.',
  )
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}
