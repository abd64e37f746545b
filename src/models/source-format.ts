import type { CatalogEntry, CatalogSource } from './catalog.ts'
import type { FileFormat } from './model-facts.ts'
import { fileNameOf, parseSource, type ModelSource } from './source.ts'

/**
 * What files a source has, as far as it says so itself. Undefined for what only the hub can tell, for files on this machine, and for entries of the
 * catalog whose places differ. Pure.
 */
export function formatOfSource(
  source: ModelSource,
  catalog: Readonly<Record<string, CatalogEntry>>,
): FileFormat | undefined {
  switch (source.kind) {
    case 'hub':
      return source.format ?? (source.quantization === undefined ? formatOfName(source.file) : 'gguf')
    case 'wheel':
      return formatOfName(source.member)
    case 'url':
      return formatOfName(fileNameOf(new URL(source.url)))
    case 'catalog':
      return commonFormat((catalog[source.name]?.sources ?? []).map((place) => formatOfPlace(place, catalog)))
    default:
      return undefined
  }
}

/** The same for one place of the catalog. Folders of it hold graphs. */
export function formatOfPlace(
  { source, folder }: CatalogSource,
  catalog: Readonly<Record<string, CatalogEntry>>,
): FileFormat | undefined {
  return folder === undefined ? formatOfSource(parseSource(source), catalog) : 'onnx'
}

function commonFormat([first, ...others]: readonly (FileFormat | undefined)[]): FileFormat | undefined {
  return others.every((format) => format === first) ? first : undefined
}

/** Other files than GGUF are no model by themselves. */
export function formatOfName(name: string | undefined): FileFormat | undefined {
  return /\.gguf$/i.test(name ?? '') ? 'gguf' : undefined
}
