import { watchModelsFolder } from '../../models/discovery/watch-models-folder.ts'
import type { Yard } from '../../yard.ts'
import type { CommandContext } from '../command-context.ts'

/**
 * Knows the models that come to the models folder and go from it while the server runs (S1), and says so. What is in memory stays there until it goes
 * by itself (BR-26). @returns a function that ends it
 */
export async function watchModels(context: CommandContext, yard: Yard): Promise<() => Promise<void>> {
  let known = namesOf(yard)
  const look = async (): Promise<void> => {
    await yard.listModels()
    const now = namesOf(yard)
    const came = now.filter((name) => !known.includes(name))
    const went = known.filter((name) => !now.includes(name))
    known = now
    if (came.length > 0) await context.err.line(`Models that came: ${came.join(', ')}`)
    if (went.length > 0) await context.err.line(`Models that went: ${went.join(', ')}`)
  }
  const watch = await watchModelsFolder({
    folder: yard.configuration.directories.models,
    clock: context.clock,
    onChange: look,
    onProblem: (message) => void context.err.line(message),
  })
  // What came while the watch began would be told of never.
  await look()
  return () => watch.close()
}

function namesOf(yard: Yard): string[] {
  return yard.state().models.map(({ id }) => id)
}
