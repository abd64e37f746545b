// What npm's own lines tell of an installation, in a few words. Pure: no process, no clock.

/** `npm http fetch GET 200 …/name-1.0.0.tgz 20ms (cache miss)`, `npm http cache name@…/name-1.0.0.tgz 0ms (cache hit)`: files of a package are here. */
const FETCHED = /^npm http .*?(https?:\S+\.tgz)(?:\s|$)/
/** Any other: that of a package which tells where its files are. */
const ASKED = /^npm http /

/**
 * Packages of a lock file that npm fetches on such a machine: what the project needs, and what that needs, without those that are not for
 * it; once for each version, in however many folders it is laid. `machine` = `{ os, cpu, libc }` as package files name them; `libc`
 * undefined where there is no choice.
 */
export function packagesToFetch({ packages }, machine) {
  const found = new Set([''])
  for (const path of found) {
    for (const needed of neededBy(packages, path)) if (suits(packages[needed], machine)) found.add(needed)
  }
  found.delete('')
  return new Set([...found].map((path) => versionAt(path, packages[path]))).size
}

function suits({ os, cpu, libc, link }, machine) {
  const isAmong = (list, here) => list === undefined || list.includes(here)
  return link !== true && isAmong(os, machine.os) && isAmong(cpu, machine.cpu) && isAmong(libc, machine.libc)
}

/** Folders of what the package in this folder names, those that there are. */
function neededBy(packages, path) {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies } = packages[path]
  const names = Object.keys({
    ...dependencies,
    ...optionalDependencies,
    ...peerDependencies,
    ...(path === '' && devDependencies),
  })
  return names.map((name) => folderOf(packages, path, name)).filter((folder) => folder !== undefined)
}

/** As Node looks for it: beside the package, then beside each that it lies in. */
function folderOf(packages, from, name) {
  for (let place = from; ; place = place.slice(0, Math.max(0, place.lastIndexOf('/node_modules/')))) {
    const folder = `${place === '' ? '' : `${place}/`}node_modules/${name}`
    if (packages[folder] !== undefined) return folder
    if (place === '') return undefined
  }
}

function versionAt(path, { name = path.slice(path.lastIndexOf('node_modules/') + 13), version }) {
  return `${name}@${version}`
}

/** How far npm is, by what it has said. `total` = packages to be fetched. */
export class InstallationNews {
  #total
  #fetched = new Set()
  #lookedUp = 0

  constructor(total) {
    this.#total = total
  }

  /** Whether the line was one of those that are counted here; all others are for the reader. */
  take(line) {
    const [, file] = FETCHED.exec(line) ?? []
    if (file !== undefined) this.#fetched.add(file)
    else if (ASKED.test(line)) this.#lookedUp++
    return ASKED.test(line)
  }

  /** Never that all are there while some are missing, and no number that stands still once they are: npm links them for many seconds then. */
  words() {
    const count = this.#fetched.size
    if (count === 0) return `${this.#lookedUp} packages looked up`
    if (count < this.#total) return `fetched ${count} of ${this.#total} packages`
    return `linking ${this.#total} packages`
  }
}
