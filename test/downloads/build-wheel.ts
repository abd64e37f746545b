import { crc32, deflateRawSync } from 'node:zlib'

export interface BuiltMember {
  name: string
  content: Buffer
  /** Kept as it is instead of deflated. */
  stored?: boolean
  /** Written instead of the truth. */
  crc32?: number
  size?: number
}

/** A ZIP archive, sound unless a member says otherwise. */
export function buildZip(members: readonly BuiltMember[]): Buffer {
  const bodies: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const member of members) {
    const packed = member.stored === true ? member.content : deflateRawSync(member.content)
    const name = Buffer.from(member.name)
    const local = Buffer.concat([
      fields(member, packed, 0x04034b50),
      lengths(name, 4),
      name,
      Buffer.alloc(4),
      packed,
    ])
    entries.push(centralEntry(member, packed, name, offset))
    bodies.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(entries)
  return Buffer.concat([...bodies, directory, endRecord(members.length, directory.length, offset)])
}

/** What local headers and directory entries have in common: from the signature to the sizes. */
function fields(member: BuiltMember, packed: Buffer, signature: number): Buffer {
  const bytes = Buffer.alloc(signature === 0x02014b50 ? 28 : 26)
  const at = signature === 0x02014b50 ? 6 : 4
  bytes.writeUInt32LE(signature)
  bytes.writeUInt16LE(20, at)
  bytes.writeUInt16LE(member.stored === true ? 0 : 8, at + 4)
  bytes.writeUInt32LE(member.crc32 ?? crc32(member.content), at + 10)
  bytes.writeUInt32LE(packed.length, at + 14)
  bytes.writeUInt32LE(member.size ?? member.content.length, at + 18)
  return bytes
}

function lengths(name: Buffer, extra: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt16LE(name.length)
  bytes.writeUInt16LE(extra, 2)
  return bytes
}

function centralEntry(member: BuiltMember, packed: Buffer, name: Buffer, offset: number): Buffer {
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE(offset, 10)
  return Buffer.concat([fields(member, packed, 0x02014b50), lengths(name, 0), rest, name])
}

function endRecord(count: number, bytes: number, offset: number): Buffer {
  const record = Buffer.alloc(22)
  record.writeUInt32LE(0x06054b50)
  record.writeUInt16LE(count, 8)
  record.writeUInt16LE(count, 10)
  record.writeUInt32LE(bytes, 12)
  record.writeUInt32LE(offset, 16)
  return record
}

/** A wheel that pip takes. */
export function buildWheel(name: string, version: string, members: readonly BuiltMember[]): Buffer {
  const info = `${name}-${version}.dist-info`
  const texts: [string, string][] = [
    [`${info}/METADATA`, `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`],
    [`${info}/WHEEL`, 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n'],
    [`${info}/RECORD`, ''],
  ]
  return buildZip([...members, ...texts.map(([path, text]) => ({ name: path, content: Buffer.from(text) }))])
}
