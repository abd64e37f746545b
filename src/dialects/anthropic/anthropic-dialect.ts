import type { Dialect } from '../dialect.ts'
import { countTokens } from './count-tokens.ts'
import { decodeChat } from './decode-chat.ts'
import { encodeError, errorStatus } from './encode-error.ts'
import { findModel, listModels } from './list-models.ts'

/** The Anthropic API as its reference publishes it (H2). */
export const anthropicDialect: Dialect = {
  name: 'anthropic',
  prefixes: ['/v1', '/anthropic/v1'],
  anyContentType: false,
  routes: [
    { method: 'GET', path: '/models', body: 'none', decode: listModels },
    { method: 'GET', path: '/models/*', body: 'none', decode: findModel },
    { method: 'POST', path: '/messages', body: 'json', decode: decodeChat },
    { method: 'POST', path: '/messages/count_tokens', body: 'json', decode: countTokens },
  ],
  errorBody: encodeError,
  errorStatus,
  claims: (path, headers) => headers['anthropic-version'] !== undefined || /^\/v1\/messages(\/|$)/.test(path),
  requestIdHeader: 'request-id',
}
