import { describe, expect, it } from 'vitest'
import { findBuildTools, installCommand, missingTools, toolsMissing } from './build-tools.ts'

const on =
  (...names: string[]) =>
  (name: string) =>
    names.includes(name) ? `/bin/${name}` : undefined

describe('the tools that compile', () => {
  it('ninja is preferred to make, and either does', () => {
    expect(findBuildTools(on('make', 'ninja'), undefined).maker).toEqual({
      kind: 'ninja',
      path: '/bin/ninja',
    })
    expect(findBuildTools(on('gmake'), undefined).maker).toEqual({ kind: 'make', path: '/bin/gmake' })
  })

  it.each([
    [undefined, '/bin/g++'],
    ['', '/bin/g++'],
    ['ccache g++', '/bin/ccache'],
    ['clang++-19', undefined],
  ])('with CXX=%j the compiler is %j', (cxx, compiler) => {
    expect(findBuildTools(on('g++', 'ccache'), cxx).compiler).toBe(compiler)
  })

  it('what pip can bring is missing only where there is no pip', () => {
    const bare = findBuildTools(on('git', 'c++'), undefined)
    expect(missingTools(bare, true, 'linux')).toEqual([])
    expect(missingTools(bare, false, 'linux')).toEqual(['cmake', 'ninja'])
    expect(missingTools(bare, false, 'win32')).toEqual(['cmake'])
    expect(missingTools(findBuildTools(on(), undefined), true, 'linux')).toEqual(['git', 'a C++ compiler'])
  })

  it.each([
    ['linux', on('apt-get'), 'sudo apt-get install git cmake ninja-build g++'],
    ['linux', on('dnf'), 'sudo dnf install git cmake ninja-build gcc-c++'],
    ['linux', on('apk'), 'sudo apk add git cmake ninja build-base'],
    ['linux', on(), "git, cmake, ninja, a C++ compiler from your system's packages"],
    ['darwin', on(), 'xcode-select --install and brew install cmake ninja'],
  ])('on %s one is told what to type', (platform, find, command) => {
    expect(installCommand(['git', 'cmake', 'ninja', 'a C++ compiler'], platform, find)).toBe(command)
  })

  it('on a Mac only what is missing is told', () => {
    expect(installCommand(['cmake'], 'darwin', on())).toBe('brew install cmake')
    expect(installCommand(['a C++ compiler'], 'darwin', on())).toBe('xcode-select --install')
  })

  it('the error names what is missing, how to have it, and what then', () => {
    const error = toolsMissing(['cmake'], 'sudo apt-get install cmake')
    expect(error).toMatchObject({ code: 'engine_missing', details: { missing: ['cmake'] } })
    expect(error.message).toMatch(
      /needs cmake,.*: sudo apt-get install cmake \(Python 3 .*\); then .* --from-source$/,
    )
    expect(toolsMissing(['git'], 'x').message).not.toContain('Python')
  })
})
