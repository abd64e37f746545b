import { ModelyardError } from '../../../base/errors.ts'

/** Programs that compile, by their absolute paths. */
export interface BuildTools {
  git: string
  cmake: string
  /** What works off CMake's plan; undefined on Windows, where CMake knows. */
  maker: { kind: 'ninja' | 'make'; path: string } | undefined
}

/** A tool that is not here, by the name that people know it by. */
export type MissingTool = 'git' | 'cmake' | 'ninja' | 'a C++ compiler'

/** What a look at the machine found. */
export interface FoundTools {
  git: string | undefined
  cmake: string | undefined
  maker: BuildTools['maker']
  compiler: string | undefined
}

type Find = (name: string) => string | undefined

/** Looks for the tools. `CXX` names a compiler, with options or a cache before it; without it, the usual ones count. */
export function findBuildTools(find: Find, cxx: string | undefined): FoundTools {
  const named = cxx?.trim().split(/\s+/)[0]
  const compilers = named === undefined || named === '' ? ['c++', 'g++', 'clang++', 'cl'] : [named]
  const first = (programs: readonly string[]): string | undefined => programs.map(find).find(Boolean)
  return {
    git: find('git'),
    cmake: find('cmake'),
    maker: makerOf(first(['ninja', 'ninja-build']), first(['make', 'gmake'])),
    compiler: first(compilers),
  }
}

function makerOf(ninja: string | undefined, make: string | undefined): BuildTools['maker'] {
  if (ninja !== undefined) return { kind: 'ninja', path: ninja }
  return make === undefined ? undefined : { kind: 'make', path: make }
}

/** What is missing. CMake and ninja come by pip where there is one. */
export function missingTools(found: FoundTools, hasPip: boolean, platform: string): MissingTool[] {
  const needsMaker = platform !== 'win32'
  return [
    ...(found.git === undefined ? (['git'] as const) : []),
    ...(found.cmake === undefined && !hasPip ? (['cmake'] as const) : []),
    ...(found.maker === undefined && needsMaker && !hasPip ? (['ninja'] as const) : []),
    ...(found.compiler === undefined ? (['a C++ compiler'] as const) : []),
  ]
}

/** The package managers of Linux and macOS, and what their packages are called. */
const INSTALLERS: readonly [program: string, command: string, packages: Record<MissingTool, string>][] = [
  ['apt-get', 'sudo apt-get install', packagesOf('ninja-build', 'g++')],
  ['dnf', 'sudo dnf install', packagesOf('ninja-build', 'gcc-c++')],
  ['zypper', 'sudo zypper install', packagesOf('ninja', 'gcc-c++')],
  ['pacman', 'sudo pacman -S', packagesOf('ninja', 'gcc')],
  ['apk', 'sudo apk add', packagesOf('ninja', 'build-base')],
]

function packagesOf(ninja: string, compiler: string): Record<MissingTool, string> {
  return { git: 'git', cmake: 'cmake', ninja, 'a C++ compiler': compiler }
}

/** The command that installs what is missing on this machine, for people. */
export function installCommand(missing: readonly MissingTool[], platform: string, find: Find): string {
  if (platform === 'win32') {
    return 'winget install Git.Git Kitware.CMake Microsoft.VisualStudio.2022.BuildTools (with C++), and work in its developer prompt'
  }
  if (platform === 'darwin') return appleCommand(missing)
  const [, command, packages] = INSTALLERS.find(([program]) => find(program) !== undefined) ?? []
  if (packages === undefined) return `${missing.join(', ')} from your system's packages`
  return `${command} ${missing.map((tool) => packages[tool]).join(' ')}`
}

/** Apple's own tools are git and the compiler; CMake and ninja are not among them. */
function appleCommand(missing: readonly MissingTool[]): string {
  const others = missing.filter((tool) => tool === 'cmake' || tool === 'ninja')
  return [
    ...(others.length < missing.length ? ['xcode-select --install'] : []),
    ...(others.length > 0 ? [`brew install ${others.join(' ')}`] : []),
  ].join(' and ')
}

/** The error of a machine that cannot compile. */
export function toolsMissing(missing: readonly MissingTool[], command: string): ModelyardError {
  const byPip = missing.some((tool) => tool === 'cmake' || tool === 'ninja')
  const pip = byPip ? ' (Python 3 with pip and venv would bring cmake and ninja, too)' : ''
  return new ModelyardError(
    'engine_missing',
    `llama-server cannot be compiled: it needs ${missing.join(', ')}, and there is none here. Install what is missing: ${command}${pip}; then try again: modelyard engines install llama-server --from-source`,
    { details: { missing } },
  )
}
