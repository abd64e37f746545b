import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ModelyardError } from '../../src/base/errors.ts'
import { loadConfiguration, type LoadConfigurationOptions } from '../../src/config.ts'
import type { YardConfiguration } from '../../src/config/yard-configuration.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'yard-config-'))
  await mkdir(join(folder, 'work'))
  await mkdir(join(folder, 'home'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const at = (...path: string[]): string => join(folder, ...path)

async function load(options: Partial<LoadConfigurationOptions> = {}): Promise<YardConfiguration> {
  const environment = { MODELYARD_HOME: at('home'), ...options.environment }
  return await loadConfiguration({ workingDirectory: at('work'), ...options, environment })
}

async function failure(options: Partial<LoadConfigurationOptions> = {}): Promise<ModelyardError> {
  try {
    await load(options)
  } catch (error) {
    if (error instanceof ModelyardError && error.code === 'config_invalid') return error
    throw error
  }
  throw new Error('it was accepted')
}

const port = (number: number): string => `server:\n  port: ${number}\n`

describe('where the configuration is looked for', () => {
  it('needs no file at all', async () => {
    const configuration = await load()
    expect(configuration.file).toBeUndefined()
    expect(configuration.server.port).toBe(11_435)
  })

  it('takes the first of --config, MODELYARD_CONFIG, the working directory, the user’s folder', async () => {
    const places = [
      at('home', 'modelyard.yaml'),
      at('work', 'modelyard.yaml'),
      at('env.yaml'),
      at('flag.yaml'),
    ]
    const found: (string | undefined)[] = []
    for (const [index, place] of places.entries()) {
      await writeFile(place, port(index))
      const environment = index >= 2 ? { MODELYARD_CONFIG: '../env.yaml' } : {}
      const { file } = await load({ environment, ...(index === 3 && { file: '../flag.yaml' }) })
      found.push(file)
    }
    expect(found).toEqual(places)
  })

  it('prefers yaml to yml to json to ts in one folder', async () => {
    await writeFile(at('work', 'modelyard.ts'), 'export default { server: { port: 4 } }')
    expect((await load()).server.port).toBe(4)
    await writeFile(at('work', 'modelyard.json'), '{"server": {"port": 3}}')
    expect((await load()).server.port).toBe(3)
    await writeFile(at('work', 'modelyard.yml'), port(2))
    expect((await load()).server.port).toBe(2)
    await writeFile(at('work', 'modelyard.yaml'), port(1))
    expect((await load()).server.port).toBe(1)
  })

  it('refuses a named file that is not there, and a folder of the name', async () => {
    expect((await failure({ file: 'none.yaml' })).message).toContain(
      `${at('work', 'none.yaml')}: it cannot be read`,
    )
    await mkdir(at('work', 'modelyard.yaml'))
    expect((await failure()).message).toContain('it cannot be read: EISDIR')
  })

  it('does not pass over a link that leads in circles', async () => {
    await symlink('modelyard.yaml', at('work', 'modelyard.yaml'))
    expect((await failure()).message).toContain('ELOOP')
  })

  it.skipIf(process.getuid?.() === 0)(
    'says so when the file may not be read (not tested as root, who may read all)',
    async () => {
      await writeFile(at('work', 'modelyard.yaml'), port(1))
      await chmod(at('work', 'modelyard.yaml'), 0)
      expect((await failure()).message).toContain('EACCES')
    },
  )
})

describe('what wins', () => {
  it('lets the command line win over the environment, and that over the file', async () => {
    await writeFile(at('work', 'modelyard.yaml'), `${port(1)}  host: 10.0.0.1\n  keys: file\n`)
    const environment = { MODELYARD_PORT: '0', MODELYARD_HOST: '127.0.0.2', MODELYARD_API_KEY: 'env' }
    const { server } = await load({ environment, commandLine: { server: { host: '127.0.0.3' } } })
    expect(server).toMatchObject({ port: 0, host: '127.0.0.3', keys: { inference: ['env'], admin: [] } })
  })

  it('H6: keys come from files too, one a line, for inference and administration apart', async () => {
    await writeFile(at('work', 'keys'), '# of the team\none\r\n\n two \n')
    await writeFile(at('work', 'admin'), 'root\n')
    const both = {
      MODELYARD_API_KEY: 'env',
      MODELYARD_API_KEY_FILE: 'keys',
      MODELYARD_ADMIN_KEY_FILE: at('work', 'admin'),
    }
    expect((await load({ environment: both })).server.keys).toEqual({
      inference: ['env', 'one', 'two'],
      admin: ['root'],
    })
    const one = { MODELYARD_API_KEY_FILE: 'keys' }
    expect((await load({ environment: one })).server.keys).toEqual({ inference: ['one', 'two'], admin: [] })
    const admin = { MODELYARD_ADMIN_KEY: 'root' }
    expect((await load({ environment: admin })).server.keys).toEqual({ inference: [], admin: ['root'] })
  })

  it('H6: a server that was to have a key does not start without one', async () => {
    await writeFile(at('work', 'empty'), '\n# nothing\n')
    const failing = async (name: string): Promise<string> =>
      (await failure({ environment: { MODELYARD_API_KEY_FILE: name } })).message
    expect(await failing('empty')).toContain('holds no key')
    expect(await failing('none')).toContain('cannot be read (ENOENT)')
  })

  it("takes the hub's mirror, token and proxy from the hub's own variables (S2)", async () => {
    await writeFile(at('work', 'modelyard.yaml'), 'downloads: { endpoint: "https://mirror.example" }\n')
    const environment = { HF_TOKEN: 'secret', HTTPS_PROXY: 'http://127.0.0.1:3128' }
    const { downloads } = await load({ environment })
    expect(downloads).toEqual({
      endpoint: 'https://mirror.example',
      token: 'secret',
      proxy: 'http://127.0.0.1:3128',
    })
  })

  it('refuses a port from the environment that is none', async () => {
    expect((await failure({ environment: { MODELYARD_PORT: 'eighty' } })).message).toContain('MODELYARD_PORT')
  })

  it('adds models of the command line to those of the file', async () => {
    await writeFile(at('work', 'modelyard.yaml'), 'models:\n  a: hf:x/y\n')
    const { models } = await load({ commandLine: { models: { b: './b.gguf' } } })
    expect(models.map(({ id, source }) => [id, source])).toEqual([
      ['a', 'hf:x/y'],
      ['b', at('work', 'b.gguf')],
    ])
  })

  it('reads paths of a file from where the file stands', async () => {
    await writeFile(at('conf.yaml'), 'models: {a: {file: a.gguf}}')
    expect((await load({ file: '../conf.yaml' })).models[0]?.source).toBe(at('a.gguf'))
  })
})

describe('errors have file, line and column (C2)', () => {
  const YAML = `# comment
models:
  qwen:
    source: hf:a/b
    slotz: 3
  two:
    keepAlive: soon
    defaults: &shared
      temperature: -1
  three:
    defaults: *shared
server:
  port: 99999
`
  it('in YAML: the name of an unknown option, the value of a wrong one, through aliases too', async () => {
    await writeFile(at('work', 'modelyard.yaml'), YAML)
    const error = await failure()
    const file = at('work', 'modelyard.yaml')
    expect(error.message.split('\n')).toEqual([
      `${file}:5:5: models.qwen.slotz is not an option; did you mean "slots"?`,
      `${file}:7:16: models.two.keepAlive is wrong: "soon" is not a duration; write seconds or for example "5m".`,
      `${file}:9:20: models.two.defaults.temperature must be a number of at least 0, not -1`,
      `${file}:9:20: models.three.defaults.temperature must be a number of at least 0, not -1`,
      `${file}:13:9: server.port must be a whole number from 0 to 65535, not 99999`,
    ])
    expect(error.details).toMatchObject({ file, line: 5, column: 5 })
  })

  it('in YAML whose syntax is wrong', async () => {
    await writeFile(at('work', 'modelyard.yaml'), 'models:\n  a: {source: x\nserver: 5\n')
    expect((await failure()).message).toMatch(/modelyard\.yaml:3:1: /)
    await writeFile(at('work', 'modelyard.yaml'), 'models: {}\nmodels: {}\n')
    expect((await failure()).message).toMatch(/modelyard\.yaml:2:1: Map keys must be unique/)
    await writeFile(at('work', 'modelyard.yaml'), 'models:\n\ta: 1\n')
    expect((await failure()).message).toMatch(/modelyard\.yaml:2:1: .*Tabs/)
  })

  it('in JSON, for syntax and for options', async () => {
    await writeFile(at('work', 'modelyard.json'), '{\n  "models": {\n    "a": {"slots": 1,}\n  }\n}')
    expect((await failure()).message).toBe(
      `${at('work', 'modelyard.json')}:3:22: this is not JSON from here on.`,
    )
    await writeFile(
      at('work', 'modelyard.json'),
      '{\n\t"models": {\n\t\t"a": {"slots": 0, "aliases": ["b", "c d"]}\n\t}\n}',
    )
    expect((await failure()).message.split('\n').map((line) => line.replace(/^.*json:/, ''))).toEqual([
      '3:18: models.a.slots must be a whole number from 1 to 1024, not 0',
      '3:38: models.a.aliases[1] must be letters, digits and _ - . : /, without empty parts between slashes',
    ])
  })

  it('points at the start where a whole file is of the wrong kind', async () => {
    await writeFile(at('work', 'modelyard.yaml'), '# list\n- a\n')
    expect((await failure()).message).toContain('modelyard.yaml:2:1: must be a map of options, not a list')
  })

  it('points at the place around what is not written in the file', async () => {
    await writeFile(
      at('work', 'modelyard.yaml'),
      'models: {a: {file: a.gguf, slots: 1}}\nserver: {host: x}\n',
    )
    const error = await failure({ commandLine: { server: { port: -1 } } })
    expect(error.message).toContain('modelyard.yaml:2:1: server.port must be')
  })

  it('refuses what is not UTF-8, and aliases that multiply without end', async () => {
    await writeFile(at('work', 'modelyard.yaml'), Buffer.from([0x61, 0x3a, 0x20, 0xff]))
    expect((await failure()).message).toContain('it cannot be read')
    const levels = Array.from({ length: 12 }, (_, level) => {
      const items = Array.from({ length: 12 }, () => (level === 0 ? 'x' : `*l${level - 1}`))
      return `l${level}: &l${level} [${items.join(',')}]`
    })
    await writeFile(at('work', 'modelyard.yaml'), levels.join('\n'))
    expect((await failure()).message).toContain('alias')
  })
})

describe('TypeScript', () => {
  it('takes the default export, or what the function returns, and reads it anew each time', async () => {
    const file = at('work', 'modelyard.ts')
    await writeFile(file, 'const port: number = 1\nexport default { server: { port } }\n')
    expect((await load()).server.port).toBe(1)
    await writeFile(file, 'export default async (): Promise<object> => ({ server: { port: 2 } })\n')
    expect((await load()).server.port).toBe(2)
  })

  it('names the file when the program fails, and the option when it is wrong', async () => {
    await writeFile(at('work', 'modelyard.ts'), 'throw new Error("my own trouble")')
    expect((await failure()).message).toContain('modelyard.ts: it cannot be run: my own trouble')
    await writeFile(at('work', 'modelyard.ts'), 'export default { sever: {} }')
    expect((await failure()).message).toContain(
      'modelyard.ts: sever is not an option; did you mean "server"?',
    )
  })
})

describe('an empty file', () => {
  it('is a configuration at start, and a half-written one while running (BR-44)', async () => {
    await writeFile(at('work', 'modelyard.yaml'), '# nothing yet\n')
    expect((await load()).models).toEqual([])
    expect((await failure({ reload: true })).message).toContain('modelyard.yaml:1:1: the file is empty')
    await writeFile(at('work', 'modelyard.yaml'), '{}\n')
    expect((await load({ reload: true })).models).toEqual([])
  })
})
