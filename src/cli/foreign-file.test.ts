import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import { tellOfForeignFile } from './foreign-file.ts'

const URL = 'http://127.0.0.1:11435'

function told(model: string, ...there: string[]): string {
  const error = new ModelyardError('model_not_found', `There is no model "${model}" here.`, {
    details: { model },
  })
  return (tellOfForeignFile(error, URL, (path) => there.some((each) => resolve(each) === path)) as Error)
    .message
}

describe('a file that is named beside a running server', () => {
  it.each(['./my.gguf', '/models/my.gguf', 'my.gguf', 'models/folder'])(
    '%s, where it is there: what to do',
    (path) => {
      const message = told(path, path)
      expect(message).toContain(`${URL} knows only its own models`)
      expect(message).toContain('MODELYARD_HOME=')
    },
  )

  it('is found in the home folder, too', () => {
    expect(told('~/my.gguf', join(homedir(), 'my.gguf'))).toContain('knows only its own models')
  })

  it.each(['./nothere.gguf', 'nothere.gguf', '/nothere'])(
    '%s, where it is not: that there is no such file',
    (path) => {
      expect(told(path)).toContain(`There is no file ${path}`)
    },
  )

  it.each(['smollm2', 'org/repo', 'hf.co/org/repo:Q4_0', ''])('"%s" is a name', (name) => {
    expect(told(name)).toBe(`There is no model "${name}" here.`)
  })

  it('other errors stay as they are', () => {
    const error = new ModelyardError('unauthorized', 'No.', { details: { model: './my.gguf' } })
    expect(tellOfForeignFile(error, URL)).toBe(error)
    expect(tellOfForeignFile('thrown', URL)).toBe('thrown')
  })
})
