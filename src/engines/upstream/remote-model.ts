import { isMap } from '../../base/is-map.ts'
import type { EndpointAbility } from '../../models/model-facts.ts'
import { UPSTREAM_SWITCHES, UPSTREAM_TASKS } from './upstream-options.ts'

/** A model in an endpoint's own list. */
export interface RemoteModel {
  id: string
  /** Whose software it is, as the list says: `vllm`, `llamacpp`, `modelyard`, … */
  ownedBy?: string
  contextLength?: number
  abilities: EndpointAbility[]
}

type Fields = Record<string, unknown>

const SOURCE = 'its model list'
/** Mistral's names. */
const MISTRAL: Readonly<Record<string, string>> = {
  completion_chat: 'chat',
  function_calling: 'tools',
  vision: 'images',
}
/** OpenRouter's names of parameters. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  tools: ['tools'],
  structuredOutput: ['structured_outputs', 'response_format'],
  logprobs: ['logprobs'],
  reasoning: ['reasoning'],
  logitBias: ['logit_bias'],
}

/** The models of an answer of `GET /v1/models`; undefined for what is no such list. */
export function readModelList(text: string): RemoteModel[] | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: unknown }
    return Array.isArray(data) ? data.flatMap(remoteModel) : undefined
  } catch {
    return undefined
  }
}

function remoteModel(entry: unknown): RemoteModel[] {
  if (!isMap(entry) || typeof entry['id'] !== 'string' || entry['id'] === '') return []
  const { id, owned_by: ownedBy } = entry
  const contextLength = contextOf(entry)
  return [
    {
      id,
      ...(typeof ownedBy === 'string' && { ownedBy }),
      ...(contextLength !== undefined && { contextLength }),
      abilities: [...ownAbilities(entry['capabilities']), ...parameterAbilities(entry)],
    },
  ]
}

/** vLLM and SGLang; Modelyard and OpenRouter; Mistral and LM Studio. */
function contextOf(entry: Fields): number | undefined {
  const { max_model_len: vllm, context_length: modelyard, max_context_length: mistral } = entry
  const said = [vllm, modelyard, mistral].find((value) => Number.isInteger(value) && (value as number) > 0)
  return said as number | undefined
}

/** Modelyard's `{tasks, tools, …}`, or Mistral's `{completion_chat, function_calling, …}`. */
function ownAbilities(capabilities: unknown): EndpointAbility[] {
  if (!isMap(capabilities)) return []
  const { tasks } = capabilities
  const kinds = Array.isArray(tasks)
    ? UPSTREAM_TASKS.map((name) => ability(name, (tasks as unknown[]).includes(name)))
    : []
  const told = (fields: Fields, names: Iterable<[string, string]>): EndpointAbility[] =>
    [...names].flatMap(([field, name]) => {
      const has = fields[field]
      return typeof has === 'boolean' ? [ability(name, has)] : []
    })
  const switches = UPSTREAM_SWITCHES.map((name): [string, string] => [name, name])
  return [...kinds, ...told(capabilities, switches), ...told(capabilities, Object.entries(MISTRAL))]
}

function parameterAbilities({ supported_parameters: parameters, architecture }: Fields): EndpointAbility[] {
  const known = Array.isArray(parameters) ? (parameters as unknown[]) : undefined
  const byParameter =
    known === undefined
      ? []
      : Object.entries(PARAMETERS).map(([name, words]) =>
          ability(
            name,
            words.some((word) => known.includes(word)),
          ),
        )
  const inputs = isMap(architecture) ? architecture['input_modalities'] : undefined
  if (!Array.isArray(inputs)) return byParameter
  return [
    ...byParameter,
    ability('images', inputs.includes('image')),
    ability('audio', inputs.includes('audio')),
  ]
}

function ability(name: string, has: boolean): EndpointAbility {
  return { name, has, source: SOURCE }
}
