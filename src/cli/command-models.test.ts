import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { yardDirectories } from '../config/directories.ts'
import { parseConfiguration } from '../config/parse-configuration.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import { commandModels } from './command-models.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'command-models-'))
afterAll(() => rmSync(FOLDER, { recursive: true }))

function configured(models: object): ModelSpec[] {
  const directories = yardDirectories({ MODELYARD_HOME: FOLDER }, FOLDER)
  return parseConfiguration({ models }, { directories, directory: FOLDER }).models
}

function named(names: string[], models: object = {}): { models: object; ids: object } {
  const { models: added, idOf } = commandModels(names, configured(models), FOLDER)
  return { models: added, ids: Object.fromEntries(idOf) }
}

describe('models named on the command line', () => {
  it('a configured id or alias stands for itself, also when the catalog has that name', () => {
    const models = { smollm2: { engine: 'scripted', aliases: ['small'] } }
    expect(named(['small', 'smollm2'], models)).toEqual({
      models: {},
      ids: { small: 'smollm2', smollm2: 'smollm2' },
    })
  })

  it("a catalog's name becomes a model of that name", () => {
    expect(named(['smollm2'])).toEqual({
      models: { smollm2: { source: 'smollm2' } },
      ids: { smollm2: 'smollm2' },
    })
  })

  it('a file is named after itself, and its path becomes absolute', () => {
    const path = join(FOLDER, 'My model (v2).gguf')
    expect(named(['./My model (v2).gguf'])).toEqual({
      models: { 'My-model-v2': { source: path } },
      ids: { './My model (v2).gguf': 'My-model-v2' },
    })
  })

  it('a file without the usual ending counts when it is there', () => {
    writeFileSync(join(FOLDER, 'weights'), '')
    expect(named(['./weights']).models).toEqual({ weights: { source: join(FOLDER, 'weights') } })
    expect(named(['org/model'])).toEqual({ models: {}, ids: { 'org/model': 'org/model' } })
  })

  it('addresses are named as they will be called once they are fetched', () => {
    expect(
      named(['hf:org/repo-GGUF:q4_k_m', 'https://example.com/a/m%20x.gguf?x=1', 'pip:pkg/data/tiny.gguf'])
        .ids,
    ).toEqual({
      'hf:org/repo-GGUF:q4_k_m': 'org/repo-GGUF:Q4_K_M',
      'https://example.com/a/m%20x.gguf?x=1': 'm-x',
      'pip:pkg/data/tiny.gguf': 'tiny',
    })
  })

  it('two files of one name, or of the name of a configured model, stay apart', () => {
    const models = { tiny: { engine: 'scripted' } }
    expect(named(['a/tiny.gguf', 'b/tiny.gguf'], models).ids).toEqual({
      'a/tiny.gguf': 'tiny-2',
      'b/tiny.gguf': 'tiny-3',
    })
  })

  it('a file that is configured under another name is that model', () => {
    const models = { mine: { file: join(FOLDER, 'tiny.gguf') } }
    expect(named(['./tiny.gguf', './tiny.gguf'], models)).toEqual({
      models: {},
      ids: { './tiny.gguf': 'mine' },
    })
  })

  it('a name that is nothing here is left to the yard', () => {
    expect(named(['nobody'])).toEqual({ models: {}, ids: { nobody: 'nobody' } })
  })
})
