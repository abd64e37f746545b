import { sleep } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import { readOwner, type HomeOwner } from '../host/home-lock.ts'
import type { CommandContext, YardOptionsOfCommand, YardWishes } from './command-context.ts'
import { reachable } from './reachable-address.ts'
import type { YardClient } from './yard-client.ts'

/** Milliseconds to wait for an owner of the home that cannot be spoken to: a server that is starting, or another command. */
const PATIENCE = 15_000
const LOOK_AGAIN = 100

/** A server of the same home, if there is one; else a yard in this process (C0). Two yards never own one budget. */
export async function openYard(
  context: CommandContext,
  options: YardOptionsOfCommand,
  wishes: YardWishes = {},
): Promise<YardClient> {
  const deadline = context.clock.now() + PATIENCE
  for (;;) {
    const owner = await reachableOwner(context, deadline)
    if (owner !== undefined) return await attach(context, options, owner)
    const yard = await tryLocalYard(context, options, wishes, deadline)
    if (yard !== undefined) return yard
  }
}

type ReachableOwner = HomeOwner & { url: string }

/** The server to attach to, or undefined when the home is free. @throws home_in_use when its owner stays out of reach */
async function reachableOwner(
  context: CommandContext,
  deadline: number,
): Promise<ReachableOwner | undefined> {
  const { clock, directories, err, signal } = context
  for (let told = false; ;) {
    const owner = await readOwner(directories.home)
    if (owner === undefined || isReachable(owner)) return owner
    if (clock.now() > deadline) throw outOfReach(directories.home, owner)
    if (!told && clock.now() > deadline - PATIENCE + 1000) {
      await err.line(`Process ${owner.pid} uses the home ${directories.home}; waiting for it …`)
      told = true
    }
    await sleep(clock, LOOK_AGAIN, signal)
  }
}

function isReachable(owner: HomeOwner): owner is ReachableOwner {
  return owner.url !== undefined
}

function outOfReach(home: string, { pid }: HomeOwner): ModelyardError {
  return new ModelyardError(
    'home_in_use',
    `Process ${pid} uses the home ${home} and is no server that could be shared. Wait until it has ended, or run \`modelyard serve\`, which all commands share.`,
    { details: { directory: home, pid, url: null } },
  )
}

async function attach(
  context: CommandContext,
  options: YardOptionsOfCommand,
  { pid, url }: ReachableOwner,
): Promise<YardClient> {
  if (options.config !== undefined) {
    await context.err.line(
      `The server at ${url} answers; it has its own configuration, --config does not count.`,
    )
  }
  const { HttpYardClient } = await import('./http-yard-client.ts')
  return new HttpYardClient({ pid, url: reachable(url) }, () => keyFor(context, options))
}

/** The key a server wants: from the environment, else the one its configuration most likely names. */
async function keyFor(context: CommandContext, options: YardOptionsOfCommand): Promise<string | undefined> {
  const key = context.environment.MODELYARD_API_KEY
  if (key !== undefined && key !== '') return key
  const { commandConfiguration } = await import('./command-configuration.ts')
  const { configuration } = await commandConfiguration(context, configWish(options))
  const { keys } = configuration.server
  return keys.admin[0] ?? keys.inference[0]
}

/** Undefined when another process took the home in between: then there may be a server now. */
async function tryLocalYard(
  context: CommandContext,
  options: YardOptionsOfCommand,
  wishes: YardWishes,
  deadline: number,
): Promise<YardClient | undefined> {
  const { openLocalYard } = await import('./local-yard.ts')
  try {
    return await openLocalYard(context, options, wishes)
  } catch (error) {
    const inUse = error instanceof ModelyardError && error.code === 'home_in_use'
    if (!inUse || context.clock.now() > deadline) throw error
    return undefined
  }
}

function configWish({ config }: YardOptionsOfCommand): { config?: string } {
  return config === undefined ? {} : { config }
}
