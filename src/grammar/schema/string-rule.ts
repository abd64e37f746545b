import { sequence, text, type Expression } from '../expression.ts'
import { jsonContent, lengthOf } from '../json-text.ts'
import type { JsonRules } from '../json-rules.ts'
import { parsePattern } from '../pattern/parse-pattern.ts'
import { PatternError } from '../pattern/pattern-cursor.ts'
import { STRING_FORMATS } from '../string-formats.ts'
import type { KeywordReader } from './read-keywords.ts'

/** Strings of the given length, pattern or format; undefined when there are none. */
export function stringRule(reader: KeywordReader, json: JsonRules, strict: boolean): Expression | undefined {
  const [least, most] = reader.counts('minLength', 'maxLength')
  if (least > most) return undefined
  const content = contentOf(reader, strict)
  if (content === undefined)
    return least === 0 && most === Infinity ? json.string : json.stringOf(least, most)
  const fitted = ofLength(content, least, most)
  if (fitted === 'none') return undefined
  if (fitted !== undefined) return sequence(text('"'), jsonContent(fitted), text('"'))
  const length = lengthOf(content)
  const keyword = least > length.least ? 'minLength' : 'maxLength'
  return reader.refuse(
    keyword,
    'it cannot be held beside this pattern or format; say the length in the pattern.',
  )
}

function contentOf(reader: KeywordReader, strict: boolean): Expression | undefined {
  const pattern = reader.text('pattern')
  const format = reader.text('format')
  const formatted = format === undefined ? undefined : STRING_FORMATS.get(format)
  if (format !== undefined && formatted === undefined && strict) {
    reader.refuse('format', `this format is not known; known are ${[...STRING_FORMATS.keys()].join(', ')}.`)
  }
  if (pattern === undefined) return formatted
  if (formatted !== undefined) reader.refuse('pattern', 'it cannot be held together with a format.')
  return patternOf(pattern, reader)
}

function patternOf(pattern: string, reader: KeywordReader): Expression {
  try {
    return parsePattern(pattern)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    return reader.refuse('pattern', `it cannot become a grammar: ${error.message}.`)
  }
}

/** The content within the length; `none` when nothing fits, undefined when that cannot be said by a grammar. */
function ofLength(content: Expression, least: number, most: number): Expression | 'none' | undefined {
  const length = lengthOf(content)
  if (length.least > most || length.most < least) return 'none'
  if (length.least >= least && length.most <= most) return content
  const isRow =
    content.kind === 'repeat' && lengthOf(content.item).least === 1 && lengthOf(content.item).most === 1
  if (!isRow) return undefined
  return { ...content, least: Math.max(least, content.least), most: Math.min(most, content.most) }
}
