import type { HubSource } from './hub-source.ts'
import type { ModelSource } from './source.ts'

/** A source in its one canonical writing: two sources that mean the same are written the same. */
export function formatSource(source: ModelSource): string {
  switch (source.kind) {
    case 'file':
      return source.path
    case 'url':
      return source.url
    case 'catalog':
      return source.name
    case 'hub':
      return formatHubSource(source)
    default: {
      const version = source.version === undefined ? '' : `==${source.version}`
      return `pip:${source.package}${version}/${source.member}`
    }
  }
}

function formatHubSource({ repository, format, quantization, file, revision }: HubSource): string {
  const choice = format ?? quantization?.toUpperCase()
  const which = choice === undefined ? '' : `:${choice}`
  const path = file === undefined ? '' : `/${file}`
  return `hf:${repository}${which}${path}${revision === 'main' ? '' : `@${revision}`}`
}
