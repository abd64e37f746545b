import type { ContentPart } from '../../tasks/message.ts'
import { decodeBase64 } from '../data-uri.ts'
import {
  asArray,
  asFields,
  asString,
  invalidField,
  notImplemented,
  optionalBoolean,
  optionalFields,
  optionalString,
  wrongType,
  type Fields,
} from '../fields.ts'

/** One block of a content and where it stands. */
export interface Block {
  type: string
  fields: Fields
  param: string
}

/** A content as blocks; a string is one block of text. @throws invalid_request */
export function decodeBlocks(value: unknown, param: string): Block[] {
  if (typeof value === 'string') return [{ type: 'text', fields: { text: value }, param }]
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of blocks', value)
  return value.map((entry, index) => {
    const path = `${param}[${index}]`
    const fields = asFields(entry, path)
    optionalFields(fields, 'cache_control', `${path}.`)
    return { type: asString(fields['type'], `${path}.type`), fields, param: path }
  })
}

/** A system text, or what else may be text alone. @throws invalid_request for any other block */
export function decodeTexts(value: unknown, param: string): string {
  const blocks = decodeBlocks(value, param)
  const wrong = blocks.find(({ type }) => type !== 'text')
  if (wrong !== undefined) {
    throw invalidField(`${wrong.param}.type`, `'${wrong.param}.type' must be 'text' here.`)
  }
  return blocks.map(decodeText).join('\n')
}

export function decodeText({ fields, param }: Block): string {
  return asString(fields['text'], param.endsWith(']') ? `${param}.text` : param)
}

/** What a block shows the model. @throws ModelyardError for blocks that are not known, or not possible at this place */
export function decodeShownBlock(block: Block): ContentPart[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: decodeText(block) }]
    case 'image':
      return [decodeImage(block)]
    case 'document':
      return decodeDocument(block)
    case 'search_result':
      return [decodeSearchResult(block)]
    default:
      throw refusedBlock(block)
  }
}

const PLACED = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', ''])

/** Blocks that stand in the wrong message, and those of tools that run at Anthropic. */
export function refusedBlock({ type, param }: Block): Error {
  if (PLACED.has(type))
    return invalidField(`${param}.type`, `'${param}.type' is a block that cannot stand here.`)
  return notImplemented(
    `${param}.type`,
    `'${param}.type' is a kind of block that this server does not know, or one of a tool that runs at Anthropic.`,
  )
}

function decodeImage({ fields, param }: Block): ContentPart {
  const path = `${param}.source`
  const source = asFields(fields['source'], path)
  const type = asString(source['type'], `${path}.type`)
  if (type !== 'base64') throw refusedSource(type, path)
  const mediaType = asString(source['media_type'], `${path}.media_type`).toLowerCase()
  if (!mediaType.startsWith('image/')) {
    throw invalidField(`${path}.media_type`, `'${path}.media_type' must be image/….`)
  }
  const data = decodeBase64(asString(source['data'], `${path}.data`), `${path}.data`)
  if (data.length === 0) throw invalidField(`${path}.data`, `'${path}.data' holds no data.`)
  return { type: 'image', mediaType, data }
}

function refusedSource(type: string, param: string): Error {
  if (type === 'url') {
    return invalidField(param, `'${param}' is a remote URL, which this server does not fetch; send base64.`)
  }
  if (type === 'file')
    return notImplemented(param, `This server keeps no files; send the content of '${param}'.`)
  return invalidField(`${param}.type`, `'${param}.type' is not a kind of source that is known here.`)
}

/** A document as text under its title, as far as it is text. */
function decodeDocument({ fields, param }: Block): ContentPart[] {
  refuseCitations(fields, param)
  const heading = ['title', 'context'].map((name) => optionalString(fields, name, `${param}.`) ?? '')
  const content = decodeDocumentSource(asFields(fields['source'], `${param}.source`), `${param}.source`)
  const above = heading.filter((text) => text !== '').join('\n')
  return above === '' ? content : [{ type: 'text', text: `${above}\n` }, ...content]
}

function decodeDocumentSource(source: Fields, param: string): ContentPart[] {
  const type = asString(source['type'], `${param}.type`)
  if (type === 'text') return [{ type: 'text', text: asString(source['data'], `${param}.data`) }]
  if (type === 'content') {
    return decodeBlocks(source['content'], `${param}.content`).flatMap((block) => {
      if (block.type !== 'text' && block.type !== 'image') throw refusedBlock({ ...block, type: '' })
      return decodeShownBlock(block)
    })
  }
  if (type === 'base64') {
    throw notImplemented(param, `This server does not read PDF; send the text of the document in '${param}'.`)
  }
  throw refusedSource(type, param)
}

function decodeSearchResult({ fields, param }: Block): ContentPart {
  refuseCitations(fields, param)
  const title = asString(fields['title'], `${param}.title`)
  const source = asString(fields['source'], `${param}.source`)
  const content = decodeTexts(asArray(fields['content'], `${param}.content`), `${param}.content`)
  return { type: 'text', text: [title, source, content].join('\n') }
}

function refuseCitations(fields: Fields, param: string): void {
  const citations = optionalFields(fields, 'citations', `${param}.`) ?? {}
  if (optionalBoolean(citations, 'enabled', `${param}.citations.`) !== true) return
  throw notImplemented(
    `${param}.citations`,
    `This server does not make citations; leave '${param}.citations' out.`,
  )
}

/** Parts as a content: a string where nothing but text is in it, block by block on lines of their own. */
export function contentOf(parts: ContentPart[]): string | ContentPart[] {
  if (!parts.every((part) => part.type === 'text')) return parts
  return parts.map(({ text }) => text).join('\n')
}
