import { isSafePath } from '../hub-source.ts'
import { transferError } from './download-error.ts'
import type { HttpAnswer, HttpClient } from './http-client.ts'
import { readJson } from './read-json.ts'
import { type RetryOptions, withRetries } from './retry.ts'

/** A file as the hub lists it. */
export interface HubFile {
  path: string
  size: number
  /** Hex; absent for small files that the hub keeps in git. */
  sha256?: string
}

export interface HubListing {
  /** Commit that the revision names now: the files are fetched from it, so that a push in between changes nothing. */
  commit: string
  files: HubFile[]
}

export interface HubRequest {
  repository: string
  revision: string
  signal: AbortSignal
  /** Milliseconds until the hub must have answered first; then it counts as unreachable and is not tried again. */
  answerWithin?: number
}

const MOST_PAGES = 100

/** What we ask of a model hub: the files of a repository at a revision, and their addresses. */
export class HubClient {
  /** Address of the hub or its mirror, without a slash at its end. */
  readonly #endpoint: string
  readonly #http: HttpClient
  readonly #retry: Omit<RetryOptions, 'signal'>

  constructor(endpoint: string, http: HttpClient, retry: Omit<RetryOptions, 'signal'>) {
    this.#endpoint = endpoint
    this.#http = http
    this.#retry = retry
  }

  /** @throws ModelyardError `download_failed`: unknown repository or revision, gated, unreachable */
  async list(request: HubRequest): Promise<HubListing> {
    const { repository, revision } = request
    const about = await this.#getJson(
      this.#url(`/api/models/${repository}/revision/${encodeURIComponent(revision)}`),
      request,
    )
    const commit = (about.value as { sha?: unknown } | null)?.sha
    if (typeof commit !== 'string' || !/^[0-9a-f]{7,64}$/i.test(commit)) {
      throw transferError(about.url, 'did not name a commit; is this a model hub?', { retryable: false })
    }
    return { commit, files: await this.#tree(request, commit) }
  }

  /** Where a file of a commit is fetched from. */
  fileUrl(repository: string, commit: string, path: string): URL {
    return this.#url(`/${repository}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`)
  }

  /** What a file of a commit says, kept nowhere. @throws ModelyardError `download_failed`, for what is no JSON, too */
  async readJson(
    { repository, ...request }: Pick<HubRequest, 'repository' | 'signal' | 'answerWithin'>,
    commit: string,
    path: string,
  ): Promise<unknown> {
    return (await this.#getJson(this.fileUrl(repository, commit, path), request)).value
  }

  async #tree({ repository, ...request }: HubRequest, commit: string): Promise<HubFile[]> {
    const files: HubFile[] = []
    let next: URL | undefined = this.#url(`/api/models/${repository}/tree/${commit}?recursive=true`)
    for (let page = 0; next !== undefined && page < MOST_PAGES; page++) {
      const { url, value, answer } = await this.#getJson(next, request)
      if (!Array.isArray(value))
        throw transferError(url, 'did not answer with a list of files', { retryable: false })
      files.push(...value.flatMap(readEntry))
      next = nextPage(url, answer)
    }
    return files
  }

  async #getJson(
    url: URL,
    { signal, answerWithin }: Pick<HubRequest, 'signal' | 'answerWithin'>,
  ): Promise<{ url: URL; value: unknown; answer: HttpAnswer }> {
    const once = async (): Promise<{ url: URL; value: unknown; answer: HttpAnswer }> => {
      const options = answerWithin === undefined ? { signal } : { signal, answerWithin }
      const answer = await this.#http.get(url, options)
      return { url, value: await readJson(url, answer, signal), answer }
    }
    return withRetries(once, {
      ...this.#retry,
      signal,
      ...(answerWithin === undefined ? {} : { attempts: 1 }),
    })
  }

  #url(path: string): URL {
    return new URL(this.#endpoint + path)
  }
}

interface TreeEntry {
  type?: unknown
  path?: unknown
  size?: unknown
  lfs?: { oid?: unknown; size?: unknown } | null
}

/** One entry of the hub's tree; what would leave its folder on disk is not seen. */
function readEntry(value: unknown): HubFile[] {
  const { type, path, size, lfs } = (value ?? {}) as TreeEntry
  if (type !== 'file' || typeof path !== 'string' || !isSafePath(path)) return []
  const bytes = lfs?.size ?? size
  if (typeof bytes !== 'number') return []
  const digest = typeof lfs?.oid === 'string' ? /^(?:sha256:)?([0-9a-f]{64})$/i.exec(lfs.oid)?.[1] : undefined
  return [{ path, size: bytes, ...(digest === undefined ? {} : { sha256: digest.toLowerCase() }) }]
}

/** `Link: <…>; rel="next"`, on the same host only. */
function nextPage(url: URL, { headers }: HttpAnswer): URL | undefined {
  const target = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(headers['link'] ?? '')?.[1]
  if (target === undefined || !URL.canParse(target, url.href)) return undefined
  const next = new URL(target, url.href)
  return next.origin === url.origin ? next : undefined
}
