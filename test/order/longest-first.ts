import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take longest: when one of them begins last, a core waits for it. Vitest knows how long files took where they ran before;
 * in a clean clone it would go by the length of their text.
 */
const LONG: readonly string[] = [
  'test/clients/python.test.ts',
  // Beside each other those that leave a core to their neighbour.
  'test/yard/memory-limit.test.ts',
  'test/node-llama-cpp/estimate.test.ts',
  'test/habits/habits.test.ts',
  'test/chaos/chaos.test.ts',
  'src/pool/policy/properties.test.ts',
  'src/pool/policy/mutants.test.ts',
  'src/pool/simulation/comparison.test.ts',
  'src/grammar/compile-schema.test.ts',
]

/** The usual order, with those at the head of their group. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted(
      (a, b) => groupOf(a) - groupOf(b) || isShared(a) - isShared(b) || placeOf(a) - placeOf(b),
    )
  }
}

/** Files of one process come one after the other: it is ended where another's is next. */
function isShared({ project }: TestSpecification): number {
  return project.config.isolate ? 0 : 1
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((file) => moduleId.endsWith(file))
  return place === -1 ? LONG.length : place
}
