#!/usr/bin/env node
import { VERSION } from '../version.ts'

const words = process.argv.slice(2)

// Asked by scripts and shells all the time: answered before anything else is imported.
if (words.length === 1 && (words[0] === '--version' || words[0] === '-V')) {
  process.stdout.write(`${VERSION}\n`)
} else {
  const { runCommandLine } = await import('./command-line.ts')
  await runCommandLine(words)
}
