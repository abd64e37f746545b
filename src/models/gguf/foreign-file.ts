const LFS_POINTER = 'version https://git-lfs.github.com/spec/'

/** What a file without the GGUF magic looks like from its first bytes, for the error message (BR-23). */
export function describeForeignFile(beginning: Buffer): string {
  if (beginning.length === 0) return 'is not a GGUF file: it is empty (0 bytes).'
  const text = beginning.toString('latin1')
  if (text.startsWith(LFS_POINTER)) {
    return 'is not a GGUF file: it is a Git LFS pointer. Fetch the real file with "git lfs pull".'
  }
  if (/^(ï»¿)?\s*<(!doctype|html|\?xml)/i.test(text)) {
    return 'is not a GGUF file: it looks like HTML, a page saved instead of the file. Download it again.'
  }
  return `is not a GGUF file${describeMagic(beginning, text)}.`
}

function describeMagic(beginning: Buffer, text: string): string {
  if (beginning.every((byte) => byte === 0))
    return ': it begins with zero bytes only, an unfinished download?'
  if (text.startsWith('PK\u0003\u0004')) return ': it is a ZIP archive'
  if (/^(lmgg|tjgg|algg|fmgg)/.test(text)) return ': it is of the older GGML format; convert it to GGUF'
  if (/^.{8}\{"/s.test(text)) return ': it looks like safetensors; convert it to GGUF'
  if (/^\s*[{[]/.test(text)) return ': it looks like JSON'
  return `: it begins with ${beginning.subarray(0, 4).toString('hex')}, not with "GGUF"`
}
