/** Bytes of a refusal that are read. */
const LONGEST_REFUSAL = 64 * 1024

/** What comes of a body until there are more bytes than these; the rest is not waited for. */
export async function beginningOf(body: AsyncIterable<Buffer>, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length > bytes) break
  }
  return Buffer.concat(chunks)
}

/** The beginning of a refusal, as text: no more is needed. */
export async function refusalText(body: AsyncIterable<Buffer>): Promise<string> {
  return (await beginningOf(body, LONGEST_REFUSAL)).toString('utf8')
}
