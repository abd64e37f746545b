import { isIP } from 'node:net'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import type { ModelListing } from '../../dialects/yard-port.ts'
import type { Yard } from '../../yard.ts'
import type { CommandContext } from '../command-context.ts'

/** Tells where the server listens (the line ends with the address: programs read it), what it serves and how to try it. */
export async function announce(
  { out }: CommandContext,
  yard: Yard,
  url: string,
  named: readonly string[],
  json: boolean,
): Promise<void> {
  const { version, pid, models } = yard.state()
  if (json) return await out.line(JSON.stringify({ url, pid, version, models: models.map(({ id }) => id) }))
  await out.line(`Modelyard ${version} listens on ${url}`)
  await out.line(`Models: ${models.map(({ id }) => id).join(', ') || 'none yet (modelyard pull smollm2)'}`)
  const model = chatModel(models, named)
  if (model !== undefined) await out.line(`Try it:\n${curlLine(url, model, hasKeys(yard.configuration))}`)
}

/** The first model that was asked for by name and can chat, else the first that can. */
function chatModel(models: readonly ModelListing[], named: readonly string[]): string | undefined {
  const able = models.filter(({ purpose }) => purpose === 'generation').map(({ id }) => id)
  return named.find((id) => able.includes(id)) ?? able[0]
}

/** One line that works when it is pasted into a shell. */
export function curlLine(url: string, model: string, keys: boolean): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] })
  const key = keys ? ` -H "authorization: Bearer $MODELYARD_API_KEY"` : ''
  return `curl ${reachable(url)}/v1/chat/completions${key} -H 'content-type: application/json' -d '${body}'`
}

/** An address that means "every one of this machine" is no address to call. */
export function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
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
