import type { Dialect } from '../dialect.ts'
import { decodeResponse } from '../openai-responses/decode-response.ts'
import { findResponse, removeResponse } from '../openai-responses/stored-responses.ts'
import { decodeSpeech } from './audio/decode-speech.ts'
import { decodeTranscription, decodeTranslation } from './audio/decode-transcription.ts'
import { decodeChat } from './decode-chat.ts'
import { decodeCompletion } from './decode-completion.ts'
import { decodeEmbedding } from './decode-embedding.ts'
import { decodeRerank } from './decode-rerank.ts'
import { decodeScore } from './decode-score.ts'
import { encodeError } from './encode-error.ts'
import { decodeImageGeneration } from './images/decode-image-generation.ts'
import { findModel, listModels } from './list-models.ts'
import { refusedRoutes } from './refused-routes.ts'

/** The OpenAI API as its reference publishes it (H1). */
export const openAiDialect: Dialect = {
  name: 'openai',
  prefixes: ['/v1', '/openai/v1'],
  anyContentType: false,
  routes: [
    { method: 'GET', path: '/models', body: 'none', decode: listModels },
    { method: 'GET', path: '/models/*', body: 'none', decode: findModel },
    { method: 'POST', path: '/chat/completions', body: 'json', decode: decodeChat },
    { method: 'POST', path: '/responses', body: 'json', decode: decodeResponse },
    { method: 'GET', path: '/responses/*', body: 'none', decode: findResponse },
    { method: 'DELETE', path: '/responses/*', body: 'none', decode: removeResponse },
    { method: 'POST', path: '/completions', body: 'json', decode: decodeCompletion },
    { method: 'POST', path: '/embeddings', body: 'json', decode: decodeEmbedding },
    { method: 'POST', path: '/rerank', body: 'json', decode: decodeRerank },
    { method: 'POST', path: '/score', body: 'json', decode: decodeScore },
    { method: 'POST', path: '/audio/transcriptions', body: 'form', decode: decodeTranscription },
    { method: 'POST', path: '/audio/translations', body: 'form', decode: decodeTranslation },
    { method: 'POST', path: '/audio/speech', body: 'json', decode: decodeSpeech },
    { method: 'POST', path: '/images/generations', body: 'json', decode: decodeImageGeneration },
    ...refusedRoutes,
  ],
  errorBody: encodeError,
}
