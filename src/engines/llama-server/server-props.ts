import { loadFailed, type LoadPlan } from '../engine.ts'
import { llamaServerOptions } from './llama-server-options.ts'

/** What a server says of itself. */
export interface Props {
  total_slots?: number
  default_generation_settings?: { n_ctx?: number }
  build_info?: string
  media_marker?: string
}

/** What stands in a prompt for an image; undefined: the model sees none. */
export function imageMarkOf({ spec }: LoadPlan, props: Props): string | undefined {
  return llamaServerOptions(spec).mmproj === undefined ? undefined : (props.media_marker ?? '<__media__>')
}

/** @throws model_load_failed when the server made something else of its options */
export function requireSlots({ model, slots, facts }: LoadPlan, { total_slots: there }: Props): void {
  if (facts.purpose !== 'generation' || there === undefined || there === slots) return
  throw loadFailed(
    'bad_option',
    `Model "${model}" was to have ${slots} slots, and its llama-server has ${there}.`,
  )
}

/** @throws model_load_failed when its slots hold less than was planned: prompts would be refused that fit */
export function requireContext(
  { model, contextSize, facts }: LoadPlan,
  { default_generation_settings: of }: Props,
): void {
  const there = of?.n_ctx
  if (facts.purpose !== 'generation' || there === undefined || there >= contextSize) return
  throw loadFailed(
    'bad_option',
    `Model "${model}" was to have a context of ${contextSize} tokens, and its llama-server has ${there}; set context to that.`,
  )
}
