import { describe, expect, it } from 'vitest'
import { specOf } from './__fixtures__/model-spec.ts'
import type { ModelSpec } from './model-spec.ts'
import { ServedModels, type ServedModel } from './served-models.ts'

function template(id: string, slots = 4): ModelSpec {
  return specOf(id, { engine: 'upstream', slots, engineOptions: { url: ['http://x/v1'], key: 'secret' } })
}

function models(...names: string[]): ServedModel[] {
  return names.map((name) => ({ name, options: { remoteModel: name } }))
}

class Memory {
  readonly #values = new Map<string, unknown>()
  read(key: string): unknown {
    return this.#values.get(key)
  }
  write(key: string, value: unknown): void {
    this.#values.set(key, JSON.parse(JSON.stringify(value)))
  }
}

function open(memory = new Memory(), ...templates: ModelSpec[]): ServedModels {
  const served = new ServedModels(memory, (id) => /^[\w/-]+$/.test(id))
  served.replace(templates.length === 0 ? [template('lab/*')] : templates)
  return served
}

describe('models that endpoints list', () => {
  it('are named under their entry, with its options and their name there', () => {
    const served = open()
    expect(served.told('lab/*', models('a', 'org/b'), 1)).toEqual({
      added: ['lab/a', 'lab/org/b'],
      vanished: [],
    })
    expect(served.specs().map(({ id }) => id)).toEqual(['lab/a', 'lab/org/b'])
    expect(served.find('lab/org/b')?.engineOptions).toEqual({
      url: ['http://x/v1'],
      key: 'secret',
      remoteModel: 'org/b',
    })
  })

  it('that are not listed any more stay, marked, until they are again', () => {
    const served = open()
    served.told('lab/*', models('a', 'b'), 1)
    expect(served.told('lab/*', models('a'), 2)).toEqual({ added: [], vanished: ['lab/b'] })
    expect(served.problemOf('lab/b')).toContain('does not list it any more')
    expect(served.told('lab/*', models('a'), 3).vanished).toEqual([])
    expect(served.lists()).toEqual([{ entry: 'lab/*', models: 1, vanished: 1, toldAt: 3, problem: null }])
    expect(served.told('lab/*', models('a', 'b'), 4).added).toEqual(['lab/b'])
    expect(served.problemOf('lab/b')).toBeUndefined()
  })

  it('stay when their endpoint cannot be asked, and it is said why', () => {
    const served = open()
    served.told('lab/*', models('a'), 1)
    served.failed('lab/*', 'Nobody answers.')
    expect(served.find('lab/a')).toBeDefined()
    expect(served.problemOf('lab/a')).toBe('Nobody answers.')
    expect(served.lists()[0]).toMatchObject({ models: 1, toldAt: 1, problem: 'Nobody answers.' })
  })

  it('keep the identity of specs that did not change', () => {
    const served = open()
    served.told('lab/*', models('a'), 1)
    const before = served.find('lab/a')
    served.told('lab/*', models('b', 'a'), 2)
    expect(served.find('lab/a')).toBe(before)
    served.replace([template('lab/*', 8)])
    expect(served.find('lab/a')?.slots).toBe(8)
  })

  it('are known at the next start before anybody answers; keys are not kept', () => {
    const memory = new Memory()
    open(memory).told('lab/*', models('a'), 7)
    const again = open(memory)
    expect(again.find('lab/a')?.engineOptions['key']).toBe('secret')
    expect(again.lists()[0]).toMatchObject({ models: 1, toldAt: 7 })
    expect(JSON.stringify(memory.read('served-models'))).not.toContain('secret')
  })

  it('whose names cannot be ids are left out, and that is told', () => {
    const served = open()
    served.told('lab/*', models('a', 'b c'), 1)
    expect(served.lists()[0]).toMatchObject({ models: 1, problem: expect.stringContaining('1 of its names') })
  })

  it('of an entry that is gone are gone, and an answer for it changes nothing', () => {
    const served = open(new Memory(), template('lab/*'), template('*'))
    served.told('*', models('a'), 1)
    served.replace([template('lab/*')])
    expect(served.told('*', models('b'), 2)).toEqual({ added: [], vanished: [] })
    expect(served.specs()).toEqual([])
  })
})
