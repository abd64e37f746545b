import { createHash } from 'node:crypto'
import { parseShardName } from '../gguf/shards.ts'
import { parseSource } from '../source.ts'
import type { FoundModel } from './scan-models-folder.ts'

/**
 * Ids of the models of a folder, in the letters that ids may have (P1): of a fetched one after its source (`org/repo:Q4_K_M`), of any
 * other after its place. Two that would have one id are told apart by a hash of their place, so that ids stay when files come and go.
 */
export function idsOfFoundModels(models: readonly FoundModel[]): Map<FoundModel, string> {
  const ids = new Map<FoundModel, string>()
  const owners = new Map<string, FoundModel>()
  // A name that needed no change has the first right to its id.
  const exact = models.filter((model) => wishedName(model) === cleaned(wishedName(model)))
  for (const model of [...exact, ...models.filter((other) => !exact.includes(other))]) {
    const wished = cleaned(wishedName(model))
    const id = wished === '' || owners.has(wished) ? `${wished || 'model'}-${hashOf(model.name)}` : wished
    owners.set(id, model)
    ids.set(model, id)
  }
  return ids
}

/** Id of a model that only its source is known of: the one it has once it was fetched, where no other has it. */
export function idOfSource(source: string): string {
  return cleaned(nameOfSource(source)) || 'model'
}

function wishedName(model: FoundModel): string {
  const [source] = model.sources
  return source === undefined ? nameOfFile(model.name) : nameOfSource(source)
}

function nameOfSource(text: string): string {
  const source = parseSource(text)
  switch (source.kind) {
    case 'hub': {
      const { repository, format, quantization, file, revision } = source
      const choice = format ?? quantization
      const which = choice === undefined ? '' : `:${choice}`
      const path = file === undefined ? '' : `/${nameOfFile(file)}`
      return `${repository}${which}${path}${revision === 'main' ? '' : `:${revision}`}`
    }
    case 'wheel':
      return nameOfFile(source.member.split('/').at(-1) ?? '')
    case 'url':
      return nameOfFile(decodeURIComponent(new URL(source.url).pathname.split('/').at(-1) ?? ''))
    default:
      return nameOfFile(text)
  }
}

/** Without the ending and the numbers of shards. */
function nameOfFile(path: string): string {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const shard = parseShardName(path)
  return shard === undefined ? path.replace(/\.gguf$/i, '') : folder + shard.stem
}

/** Only letters that ids may have; no part is empty or consists of dots, which clients would fold away in an address. */
function cleaned(name: string): string {
  return name
    .split('/')
    .map((part) =>
      part
        .normalize('NFKD')
        .replaceAll(/\p{M}/gu, '')
        .replaceAll(/[^\w.:-]+/g, '-')
        .replaceAll(/^[-.]+|[-.]+$/g, ''),
    )
    .filter((part) => part !== '')
    .join('/')
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 6)
}
