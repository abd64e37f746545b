import type { FeatureFields } from '../../src/dialects/dialect.ts'
import type { ParameterHandling, ParameterTable } from '../../src/dialects/parameter-table.ts'

/** One route, or one object of parameters, on the page. */
export interface DocumentedRoute {
  dialect: string
  title: string
  table: ParameterTable
  featureFields?: FeatureFields
  /** Status of a documented value that is not there; 501 unless the dialect has none. */
  refusal?: number
}

/** What a model or its engine must be able to do, in words. */
const NEEDS: Record<string, string> = {
  tools: 'tools',
  'structured-output': 'structured output',
  grammar: 'grammars',
  logprobs: 'log-probabilities',
  reasoning: 'reasoning',
  images: 'images',
  audio: 'audio',
  prefill: 'going on with a last assistant message',
  infill: 'infill',
  'token-input': 'token ids as input',
  echo: 'echo',
  'logit-bias': 'logit bias',
}

function needsOf(name: string, fields: FeatureFields = {}): string {
  const needs = Object.entries(fields)
    .filter(([feature, field]) => field?.split('.')[0] === name && feature in NEEDS)
    .map(([feature]) => NEEDS[feature])
  return needs.length === 0 ? '' : `; needs of the model: ${needs.join(', ')}`
}

const code = (value: unknown): string => `\`${JSON.stringify(value)}\``

function handlingText(
  name: string,
  handling: ParameterHandling,
  { featureFields, refusal = 501 }: DocumentedRoute,
): string {
  if (handling.by === 'label') return `ignored: ${handling.because}`
  if (handling.by !== 'neutral') return `supported${needsOf(name, featureFields)}`
  const accepted = ['absent', '`null`', ...handling.values.map(code)].join(', ')
  return `${accepted}; anything else is a ${refusal}: ${handling.instead ?? 'leave it out'}`
}

function tableText(header: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

function routeText(route: DocumentedRoute): string {
  const rows = [...route.table].map(([name, handling]) => [
    `\`${name}\``,
    handlingText(name, handling, route),
  ])
  return `### ${route.title}\n\n${tableText(['parameter', 'handling'], rows)}\n`
}

const HEAD = `# Compatibility

Every parameter of the published references and what becomes of it. This page is written by \`npm run docs\` from the tables the server decodes with
(\`src/dialects/*/parameters.ts\`), which a test holds against the official SDKs' own declarations; another test fails when this page is not
what they say.

- *supported*: decoded, checked, and kept. A documented field of a wrong type or range is a 400 that names it. What the model or its engine cannot do is a
  400 or a 501 before anything is loaded.
- *ignored*: checked for its type and accepted, since nothing about the answer follows from it.
- Other values than those named are refused, never dropped in silence.
- Parameters that no reference documents are ignored, but for the extensions of [the HTTP API](http.md).
`

/** The page, whole. */
export function compatibilityPage(
  routes: readonly DocumentedRoute[],
  refused: readonly (readonly [string, string])[],
): string {
  const dialects = [...new Set(routes.map(({ dialect }) => dialect))]
  const sections = dialects.map(
    (dialect) =>
      `## ${dialect}\n\n${routes.filter((route) => route.dialect === dialect).map(routeText).join('\n')}`,
  )
  const missing = refused.map(([path, why]) => [`\`${path}\``, why])
  return `${[HEAD, ...sections].join('\n')}\n## Routes that are a 501, with all below them\n\n${tableText(['route', 'why'], missing)}\n`
} // prettier-ignore
