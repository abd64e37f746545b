import { spawn } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

export interface Output {
  code: number | null
  output: string
}

/** Runs a program to its end. */
export async function outputOf(command: string, args: string[], directory: string): Promise<Output> {
  const child = spawn(command, args, {
    cwd: directory,
    env: { ...process.env, NO_COLOR: '1', npm_config_ignore_scripts: 'true' },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  return new Promise((settle) => {
    child.once('close', (code) => settle({ code, output }))
  })
}

/** A folder of somebody who installed the package as it is published, with files of their own. */
export async function userProject(files: readonly string[]): Promise<{ folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'modelyard-user-'))
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, 'modelyard'), { recursive: true })
  const packed = await outputOf('npm', ['pack', '--silent', '--pack-destination', folder], ROOT)
  const archive = packed.output.trim().split('\n').at(-1) ?? ''
  await outputOf('tar', ['-xzf', archive, '-C', join(modules, 'modelyard'), '--strip-components=1'], folder)
  for (const name of [...(await dependencies()), 'vitest']) await linkModule(modules, name)
  for (const file of files) await copyFile(join(ROOT, file), join(folder, basename(file)))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

async function dependencies(): Promise<string[]> {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  return Object.keys(manifest.dependencies)
}

async function linkModule(modules: string, name: string): Promise<void> {
  const link = join(modules, name)
  await mkdir(dirname(link), { recursive: true })
  await symlink(join(ROOT, 'node_modules', name), link)
}
