import { wrongSource } from './source-error.ts'

/** A file of a repository on a model hub, or those of its files that are one model. */
export interface HubSource {
  kind: 'hub'
  /** `org/name` */
  repository: string
  /** Written like a quantisation: all files of the model in safetensors, also where the repository has GGUF files. */
  format?: 'safetensors'
  /** For example `Q4_K_M`; picks the file when `file` is absent. */
  quantization?: string
  /** Path within the repository. */
  file?: string
  /** Branch, tag or commit; default `main`. */
  revision: string
}

const EXPECTED =
  'Expected hf:org/repo[:quant][/file][@revision], for example hf:org/model-GGUF:Q4_K_M or hf:org/model:safetensors.'
const FORM = /^hf:([\w][\w.-]*\/[\w][\w.-]*)(?::([\w.-]+))?(?:\/([^@]+))?(?:@([^@]+))?$/i

/** @throws ModelyardError `config_invalid` */
export function parseHubSource(text: string): HubSource {
  const match = FORM.exec(text)
  if (match === null) throw wrongSource(text, EXPECTED)
  const [, repository = '', quantization, file, revision = 'main'] = match
  if (quantization !== undefined && file !== undefined) {
    throw wrongSource(text, 'Give the quantisation or the file, not both.')
  }
  if (file !== undefined && !isSafePath(file)) throw wrongSource(text, EXPECTED)
  if (!isSafePath(revision) || !/^[\w./-]+$/.test(revision)) throw wrongSource(text, EXPECTED)
  return {
    kind: 'hub',
    repository,
    ...choiceOf(quantization),
    ...(file === undefined ? {} : { file }),
    revision,
  }
}

function choiceOf(word: string | undefined): Pick<HubSource, 'format' | 'quantization'> {
  if (word === undefined) return {}
  return word.toLowerCase() === 'safetensors' ? { format: 'safetensors' } : { quantization: word }
}

/** Whether a path with slashes stays inside the folder it is put in, on every platform. */
export function isSafePath(path: string): boolean {
  return path
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..' && !/[\\:\0]/.test(part))
}
