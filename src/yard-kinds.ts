import type { PlacedModel } from './models/known-kinds.ts'
import type { ModelSpec } from './models/model-spec.ts'
import type { YardParts } from './yard-parts.ts'

type Sources = Pick<YardParts, 'registry' | 'kinds' | 'preparer'>

/** Reads what the files of models are, where that is not known yet or they changed. */
export async function lookAtKinds(sources: Sources): Promise<void> {
  const { registry, kinds } = sources
  await kinds.look(registry.list().flatMap((spec) => placed(spec, sources)))
}

/** The same for one of them. */
export async function lookAtKind(spec: ModelSpec, sources: Sources): Promise<void> {
  for (const model of placed(spec, sources)) await sources.kinds.lookAtOne(model)
}

function placed(spec: ModelSpec, { registry, preparer }: Sources): PlacedModel[] {
  const { path } = registry.placeOf(spec.id)
  return path === undefined ? [] : [{ path, inspect: async () => preparer.inspect(spec, path) }]
}
