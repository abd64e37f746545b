/** How a family of models marks what it thinks. */
export interface ReasoningFormat {
  begin: string
  end: string
  /** May begin after other text too. */
  anywhere?: boolean
  /** Markers around the rest of the answer that mean nothing to its reader. */
  silent?: readonly string[]
}

const FORMATS: readonly (ReasoningFormat & { sign?: RegExp })[] = [
  {
    begin: '<|channel|>analysis<|message|>',
    end: '<|end|>',
    anywhere: true,
    silent: ['<|start|>assistant', '<|channel|>final<|message|>'],
    sign: /<\|channel\|>analysis/,
  },
  { begin: '<|channel>thought', end: '<channel|>' },
  { begin: '[THINK]', end: '[/THINK]' },
  { begin: '<|START_THINKING|>', end: '<|END_THINKING|>' },
  { begin: '<|inner_prefix|>', end: '<|inner_suffix|>' },
  {
    begin: '<|open|>think<|sep|>',
    end: '<|close|>think<|sep|>',
    silent: ['<|open|>response<|sep|>', '<|close|>response<|sep|>', '<|close|>message<|sep|>'],
  },
  { begin: '<think:opensource>', end: '</think:opensource>' },
  { begin: '<seed:think>', end: '</seed:think>' },
  // An answer without a thought begins with its end.
  { begin: '<mm:think>', end: '</mm:think>', silent: ['</mm:think>'] },
  {
    begin: '<think>',
    end: '</think>',
    silent: ['<response>', '</response>'],
    sign: /<\/?think>[^]*<response>/,
  },
  { begin: '<think>', end: '</think>' },
  { begin: '<thinking>', end: '</thinking>' },
  { begin: '<reasoning>', end: '</reasoning>' },
]

/** The markers that a template knows; undefined = its model does not think aloud. */
export function reasoningFormatOf(template: string): ReasoningFormat | undefined {
  return FORMATS.find(({ sign, begin, end }) =>
    sign === undefined ? template.includes(begin) || template.includes(end) : sign.test(template),
  )
}
