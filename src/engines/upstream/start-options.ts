import { list, mapOf, object, oneOrMore } from '../../base/compound-shapes.ts'
import { number, text } from '../../base/scalar-shapes.ts'
import { described, type Shape } from '../../base/shape.ts'
import { declaredMemory, type DeclaredMemory } from '../declared-memory.ts'

/** A server that is started for a model and ends with it. */
export interface StartOptions {
  /**
   * Program and arguments, no shell line. `{port}` is where it must serve on 127.0.0.1 (each process has its own); `{rank}` is 0, 1, …,
   * `{count}` how many there are, `{master}` a port on which they may find each other; `{key}` is what requests to it carry as their API key.
   */
  command: string[]
  /** Arguments that all processes but the first one get besides: vLLM's workers without a server of their own are `vllm serve … --headless`. Default none. */
  followerArguments?: string[]
  /** Processes that make one server; the first one (rank 0) serves. Default 1. */
  count?: number
  /** Bytes that each process takes, per domain; one for each, or one that holds for all. */
  memory: DeclaredMemory[]
  /** Filled in like the command. */
  environment?: Record<string, string>
}

const VARIABLE = { pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, wants: 'the name of an environment variable' }

export const startShape: Shape<StartOptions> = object(
  {
    command: described(
      list(text(), { min: 1 }),
      'Program and arguments; {port}, {rank}, {count}, {master} are filled in.',
    ),
    followerArguments: described(
      list(text()),
      'Arguments that processes from rank 1 on get besides, filled in alike, for example --headless.',
    ),
    count: described(number({ min: 1, max: 64, whole: true }), 'Processes that make one server.', 1),
    memory: described(oneOrMore(declaredMemory()), 'Bytes that each process takes, or bytes per domain.'),
    environment: mapOf(text(), VARIABLE),
  },
  { required: ['command', 'memory'] },
) as Shape<StartOptions>

/** What all processes take together, per domain. */
export function memoryOfAll({ count = 1, memory }: StartOptions): DeclaredMemory {
  const sum: Record<string, number> = {}
  for (let rank = 0; rank < count; rank++) {
    const own = memory[memory.length === 1 ? 0 : rank] ?? {}
    for (const [domain, bytes = 0] of Object.entries(own)) sum[domain] = (sum[domain] ?? 0) + bytes
  }
  return sum
}
