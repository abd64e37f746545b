import { Template } from '@huggingface/jinja'
import { ModelyardError } from '../base/errors.ts'
import { CUT } from './marks.ts'
import { fillGaps, GAP_FUNCTIONS } from './template-gaps.ts'

/** Names that a template finds without being given them; options of requests must not replace them. */
const BUILT_IN = new Set(
  'true false none True False None range raise_exception refuse_conversation strftime_now namespace self super'
    .split(' ')
    .concat(Object.keys(GAP_FUNCTIONS)),
)

/** Our name for `raise_exception`, so that a template's refusal is told from what the interpreter cannot do. */
const REFUSE = 'refuse_conversation'

/** A Jinja template, read once. */
export class TemplateProgram {
  readonly #template: Template
  readonly #escapes: boolean
  readonly #wantsFunctions: boolean

  /** @throws ModelyardError `unsupported` when the template cannot be read */
  constructor(source: string) {
    try {
      this.#template = new Template(source.replaceAll(/\braise_exception\b/g, REFUSE))
      fillGaps(this.#template.parsed)
    } catch (error) {
      throw new ModelyardError(
        'unsupported',
        `The model's chat template cannot be read: ${messageOf(error)} Use the completions API, or a file with another template.`,
        { details: { param: 'model' }, cause: error },
      )
    }
    this.#escapes = source.includes('ensure_ascii')
    this.#wantsFunctions = /\bfunctions\b/.test(source) && /\bdatetime\b/.test(source)
  }

  /** @throws ModelyardError `invalid_request` with the template's own words for what it does not take, `unsupported` when it cannot be run */
  run(variables: Record<string, unknown>): string {
    const given = Object.entries(variables).filter(
      ([name, value]) => value !== undefined && !BUILT_IN.has(name),
    )
    try {
      const text = this.#template.render({
        ...(this.#wantsFunctions && functionVariables(variables['tools'])),
        ...Object.fromEntries(given),
        ...GAP_FUNCTIONS,
        [REFUSE]: refuse,
      })
      return this.#escapes ? text.replaceAll(String.raw`\ufdd0`, CUT) : text
    } catch (error) {
      if (error instanceof ModelyardError) throw error
      const message = `The model's chat template cannot be run on this conversation: ${messageOf(error)}`
      throw new ModelyardError('unsupported', message, { details: { param: 'messages' }, cause: error })
    }
  }
}

/** What Firefunction's template has for tools. The day alone, so that the beginning of a prompt is the same all day. */
function functionVariables(tools: unknown): Record<string, unknown> {
  const offered = Array.isArray(tools) ? (tools as { function?: unknown }[]) : []
  const functions = offered.map((tool) => tool.function ?? tool)
  return { functions: JSON.stringify(functions, null, 4), datetime: new Date().toISOString().slice(0, 10) }
}

/** What templates call for a conversation they were not made for. */
function refuse(words: unknown): never {
  const message = `The model's chat template does not take this conversation: ${messageOf(words)}`
  throw new ModelyardError('invalid_request', message, { details: { param: 'messages' } })
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
