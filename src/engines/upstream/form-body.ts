import { randomUUID } from 'node:crypto'

/** The file of a form. */
export interface FormUpload {
  /** Of its field. */
  field: string
  /** Servers judge by its ending what is in it. */
  name: string
  mediaType: string
  data: Uint8Array
}

/**
 * A form with one file as it goes over the wire (RFC 7578), whole, so that it can be sent again. Texts stay as they are: Node's `FormData` would make
 * each end of a line in them CRLF.
 */
export class FormBody {
  readonly contentType: string
  readonly bytes: Buffer

  /** @param fields those that are undefined are left out, the empty text is not */
  constructor(fields: Readonly<Record<string, string | undefined>>, upload: FormUpload) {
    const boundary = `modelyard-${randomUUID()}`
    this.contentType = `multipart/form-data; boundary=${boundary}`
    const texts = Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [`${head(boundary, `name="${name}"`)}\r\n${value}\r\n`],
    )
    const file = head(boundary, `name="${upload.field}"; filename="${upload.name}"`)
    this.bytes = Buffer.concat([
      Buffer.from(`${texts.join('')}${file}Content-Type: ${upload.mediaType}\r\n\r\n`),
      upload.data,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ])
  }
}

function head(boundary: string, disposition: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`
}
