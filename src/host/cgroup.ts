import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Where the kernel's files are; tests put folders with the same files there. */
export interface HostRoots {
  /** Default `/proc`. */
  procRoot?: string
  /** Default `/sys/fs/cgroup`. */
  cgroupRoot?: string
}

/** One control group that binds us, with where its files are. */
export interface ControlGroup {
  version: 1 | 2
  directory: string
}

interface Mount {
  version: 1 | 2
  /** Path of the mount's top inside the hierarchy; in a container that is the container's own group. */
  root: string
  directory: string
}

const MOUNT_POINT = '/sys/fs/cgroup'

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** `36 35 0:30 /root /mount/point rw - cgroup cgroup rw,memory` → the mount, when it is the controller's. */
function parseMount(line: string, controller: string, cgroupRoot: string): Mount | undefined {
  const [before = '', after = ''] = line.split(' - ')
  const [, , , root = '/', point = ''] = before.split(' ')
  const [type, , options = ''] = after.split(' ')
  if (type !== 'cgroup2' && !(type === 'cgroup' && options.split(',').includes(controller))) return undefined
  const directory = point.startsWith(MOUNT_POINT) ? cgroupRoot + point.slice(MOUNT_POINT.length) : point
  return { version: type === 'cgroup2' ? 2 : 1, root, directory }
}

function mountsOf(controller: string, procRoot: string, cgroupRoot: string): Mount[] {
  const mounts = readText(join(procRoot, 'self/mountinfo'))
    .split('\n')
    .map((line) => parseMount(line, controller, cgroupRoot))
    .filter((mount) => mount !== undefined)
  if (mounts.length > 0) return mounts
  return [
    { version: 2, root: '/', directory: cgroupRoot },
    { version: 1, root: '/', directory: join(cgroupRoot, controller) },
  ]
}

/** Our path in each hierarchy: line `0::/path` for version 2, `4:memory:/path` for version 1. */
function ownPath(version: 1 | 2, controller: string, procRoot: string): string | undefined {
  for (const line of readText(join(procRoot, 'self/cgroup')).split('\n')) {
    const [, number, controllers = '', path] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? []
    if (version === 2 ? number === '0' && controllers === '' : controllers.split(',').includes(controller))
      return path
  }
  return undefined
}

/** From our own group up to the mount's top. Groups that are not visible from in here are left out; the top always is. */
function chainOf(mount: Mount, path: string): string[] {
  const inside = relative(mount.root, path)
  const chain: string[] = []
  const own = inside.startsWith('..') ? mount.directory : join(mount.directory, inside)
  for (let directory = own; directory.length > mount.directory.length; directory = dirname(directory)) {
    if (existsSync(directory)) chain.push(directory)
  }
  return [...chain, mount.directory]
}

/** All groups that bind this process for a controller (`memory`, `cpu`), innermost first, version 1 and 2. Empty outside Linux. */
export function controlGroups(controller: string, roots: HostRoots = {}): ControlGroup[] {
  const { procRoot = '/proc', cgroupRoot = MOUNT_POINT } = roots
  return mountsOf(controller, procRoot, cgroupRoot).flatMap((mount) => {
    const path = ownPath(mount.version, controller, procRoot)
    if (path === undefined) return []
    return chainOf(mount, path).map((directory) => ({ version: mount.version, directory }))
  })
}
