import type { TestHome } from '../cli/program.ts'

const homes: TestHome[] = []

/** A home that a file's tests have opened: `remove-homes.ts` ends what runs in it and deletes it, also after a test that failed. */
export function removeAfterFile(home: TestHome): void {
  homes.push(home)
}

export async function removeHomes(): Promise<void> {
  for (const home of homes.splice(0)) await home.remove()
}
