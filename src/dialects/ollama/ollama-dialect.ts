import type { AnswerAction, Dialect } from '../dialect.ts'
import { copyModel, createBlob, createModel, deleteModel, findBlob, pushModel } from './change-models.ts'
import { decodeChat } from './decode-chat.ts'
import { decodeCompletion } from './decode-completion.ts'
import { decodeEmbed, decodeEmbeddings } from './decode-embedding.ts'
import { encodeError } from './encode-error.ts'
import { listModels, listResidents, showModel } from './list-models.ts'
import { pullModel } from './pull-model.ts'

/** The version of Ollama whose API this is: editors refuse to speak with one that is too old. */
const VERSION = '0.13.0'

/** Probes read this text (BR-39). */
function greet(): AnswerAction {
  return {
    type: 'answer',
    answer: async () => ({ contentType: 'text/plain; charset=utf-8', body: 'Ollama is running' }),
  }
}

function tellVersion(): AnswerAction {
  return {
    type: 'answer',
    answer: async () => ({ contentType: 'application/json', body: JSON.stringify({ version: VERSION }) }),
  }
}

/** The Ollama API as its reference publishes it (H3). Routes that change which models there are need the admin's key. */
export const ollamaDialect: Dialect = {
  name: 'ollama',
  prefixes: ['/api'],
  // curl sends a form's type, and several clients none.
  anyContentType: true,
  routes: [
    { method: 'GET', path: '/', atRoot: true, body: 'none', decode: greet },
    { method: 'GET', path: '/version', body: 'none', decode: tellVersion },
    { method: 'GET', path: '/tags', body: 'none', decode: listModels },
    { method: 'GET', path: '/ps', body: 'none', decode: listResidents },
    { method: 'POST', path: '/show', body: 'json', decode: showModel },
    { method: 'POST', path: '/generate', body: 'json', decode: decodeCompletion },
    { method: 'POST', path: '/chat', body: 'json', decode: decodeChat },
    { method: 'POST', path: '/embed', body: 'json', decode: decodeEmbed },
    { method: 'POST', path: '/embeddings', body: 'json', decode: decodeEmbeddings },
    { method: 'POST', path: '/pull', body: 'json', scope: 'admin', decode: pullModel },
    { method: 'POST', path: '/create', body: 'json', scope: 'admin', decode: createModel },
    { method: 'POST', path: '/copy', body: 'json', scope: 'admin', decode: copyModel },
    { method: 'DELETE', path: '/delete', body: 'json', scope: 'admin', decode: deleteModel },
    { method: 'POST', path: '/push', body: 'json', scope: 'admin', decode: pushModel },
    { method: 'HEAD', path: '/blobs/*', body: 'none', scope: 'admin', decode: findBlob },
    { method: 'POST', path: '/blobs/*', body: 'none', scope: 'admin', decode: createBlob },
  ],
  errorBody: encodeError,
}
