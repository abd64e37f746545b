import { describe, expect, it } from 'vitest'
import { compatibilityPage, type DocumentedRoute } from '../../test/docs/compatibility-page.ts'
import { FEATURE_FIELDS } from './anthropic/feature-fields.ts'
import { COUNT_PARAMETERS, MESSAGE_PARAMETERS } from './anthropic/parameters.ts'
import * as ollamaFeatures from './ollama/feature-fields.ts'
import * as ollama from './ollama/parameters.ts'
import { RESPONSE_FEATURE_FIELDS } from './openai-responses/feature-fields.ts'
import { RESPONSE_PARAMETERS } from './openai-responses/parameters.ts'
import * as openAiFeatures from './openai/feature-fields.ts'
import * as openAi from './openai/parameters.ts'
import { REFUSED_ROUTES } from './openai/refused-routes.ts'

type Tables = Omit<DocumentedRoute, 'dialect' | 'title'>

function route(dialect: string, title: string, table: Tables['table'], more: Partial<Tables> = {}): DocumentedRoute {
  return { dialect, title, table, ...more }
} // prettier-ignore

const anthropic = { featureFields: FEATURE_FIELDS, refusal: 400 }

const ROUTES: DocumentedRoute[] = [
  route('OpenAI', '`POST /v1/chat/completions`', openAi.CHAT_PARAMETERS, { featureFields: openAiFeatures.CHAT_FEATURE_FIELDS }),
  route('OpenAI', '`POST /v1/responses`', RESPONSE_PARAMETERS, { featureFields: RESPONSE_FEATURE_FIELDS }),
  route('OpenAI', '`POST /v1/completions`', openAi.COMPLETION_PARAMETERS, { featureFields: openAiFeatures.COMPLETION_FEATURE_FIELDS }),
  route('OpenAI', '`POST /v1/embeddings`', openAi.EMBEDDING_PARAMETERS, { featureFields: openAiFeatures.EMBEDDING_FEATURE_FIELDS }),
  route('OpenAI', '`POST /v1/audio/transcriptions`, `/v1/audio/translations`', openAi.TRANSCRIPTION_PARAMETERS),
  route('OpenAI', '`POST /v1/audio/speech`', openAi.SPEECH_PARAMETERS),
  route('OpenAI', '`POST /v1/images/generations`', openAi.IMAGE_PARAMETERS),
  route('OpenAI', '`POST /v1/rerank`', openAi.RERANK_PARAMETERS),
  route('OpenAI', '`POST /v1/score`', openAi.SCORE_PARAMETERS),
  route('Anthropic', '`POST /v1/messages`', MESSAGE_PARAMETERS, anthropic),
  route('Anthropic', '`POST /v1/messages/count_tokens`', COUNT_PARAMETERS, anthropic),
  route('Ollama', '`POST /api/generate`', ollama.GENERATE_PARAMETERS, { featureFields: ollamaFeatures.GENERATE_FEATURE_FIELDS }),
  route('Ollama', '`POST /api/chat`', ollama.CHAT_PARAMETERS, { featureFields: ollamaFeatures.CHAT_FEATURE_FIELDS }),
  route('Ollama', '`POST /api/embed`', ollama.EMBED_PARAMETERS),
  route('Ollama', '`POST /api/embeddings`', ollama.EMBEDDINGS_PARAMETERS),
  route('Ollama', '`options` of these', ollama.OPTION_PARAMETERS),
  route('Ollama', '`POST /api/create`', ollama.CREATE_PARAMETERS),
] // prettier-ignore

describe('docs/compatibility.md', () => {
  it('is what the parameter tables say (npm run docs writes it)', async () => {
    await expect(compatibilityPage(ROUTES, REFUSED_ROUTES)).toMatchFileSnapshot('../../docs/compatibility.md')
  })

  it('has every table there is', () => {
    const exported = [openAi, ollama].flatMap((tables) => Object.values<unknown>(tables))
    const tables = [...exported, RESPONSE_PARAMETERS, MESSAGE_PARAMETERS, COUNT_PARAMETERS]
    expect(new Set<unknown>(ROUTES.map(({ table }) => table))).toEqual(new Set(tables))
  })
})
