import type { Fields } from '../base/compound-shapes.ts'
import { llamaServerOptionFields } from '../engines/llama-server/llama-server-options.ts'
import { mlxOptionFields } from '../engines/mlx/mlx-options.ts'
import { nodeLlamaCppOptionFields } from '../engines/node-llama-cpp/node-llama-cpp-options.ts'
import { scriptedOptionFields } from '../engines/scripted/scripted-shapes.ts'
import { sdServerOptionFields } from '../engines/sd-server/sd-server-options.ts'
import { speechOptionFields } from '../engines/speech/speech-options.ts'
import { transformersOptionFields } from '../engines/transformers/transformers-options.ts'
import { upstreamOptionFields } from '../engines/upstream/upstream-options.ts'

/** Options that only one engine knows, by engine; `'unchecked'` = the engine checks them itself when it plans a load. */
export type EngineOptionTable = Readonly<Record<string, Fields | 'unchecked'>>

/** What a model without an `engine` is checked against: the engine of GGUF files. */
export const DEFAULT_ENGINE = 'node-llama-cpp'

export const BUILT_IN_ENGINES: EngineOptionTable = {
  [DEFAULT_ENGINE]: nodeLlamaCppOptionFields,
  'llama-server': llamaServerOptionFields,
  mlx: mlxOptionFields,
  scripted: scriptedOptionFields,
  'sd-server': sdServerOptionFields,
  speech: speechOptionFields,
  transformers: transformersOptionFields,
  upstream: upstreamOptionFields,
}
