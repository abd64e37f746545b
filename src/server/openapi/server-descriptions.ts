import type { JsonSchema } from '../../base/shape.ts'
import { ADMIN, BAD, type Descriptions } from './route-description.ts'
import { COUNT, FLAG, list, record, TEXT } from './schema-words.ts'

const HEALTH: JsonSchema = record(
  { ready: FLAG },
  { status: TEXT, reason: TEXT, scheduler: TEXT, store: TEXT, workers: TEXT },
)

const SETTING: JsonSchema = record(
  {
    key: TEXT,
    value: {},
    origin: { enum: ['command-line', 'environment', 'settings', 'file', 'default'] },
    effective: {},
    description: TEXT,
  },
  { hidden: {}, warning: TEXT },
)

const SETTINGS: JsonSchema = record({ settings: list(SETTING) })

const SETTING_CHANGES: JsonSchema = {
  type: 'object',
  description:
    'Values by key, as in the configuration file; models.ID.OPTION for single models. Null takes a change back. All or none.',
  additionalProperties: true,
}

/** Whether the server lives, what it measures and logs, and its settings. */
export const SERVER_DESCRIPTIONS: Descriptions = {
  'GET /healthz': { summary: 'Whether the server lives.', answer: HEALTH, errors: {} },
  'GET /readyz': {
    summary: 'Whether requests are answered now: scheduler, database and every worker are asked.',
    answer: HEALTH,
    errors: { 503: 'not ready; reason says why' },
  },
  'GET /metrics': {
    summary: 'Measurements for Prometheus.',
    answer: 'text/plain; version=0.0.4; charset=utf-8',
    errors: ADMIN,
  },
  'GET /api/yard/openapi.json': { summary: 'This document.', answer: { type: 'object' }, errors: ADMIN },
  'GET /api/yard/settings': {
    summary: 'What can change while the server runs, with values and origins.',
    answer: SETTINGS,
    errors: ADMIN,
  },
  'PATCH /api/yard/settings': {
    summary: 'Changes settings; they count at once and are kept.',
    body: SETTING_CHANGES,
    answer: SETTINGS,
    errors: { ...BAD, 404: 'no such model' },
  },
  'GET /api/yard/logs': {
    summary: "The end of a worker's output, and with follow what comes.",
    query: {
      instance: { ...TEXT, description: 'An instance, or a model.' },
      lines: { ...COUNT, maximum: 10_000, default: 100 },
      follow: { enum: ['true', 'false'], default: 'false' },
    },
    answer: 'text/plain; charset=utf-8',
    errors: { ...BAD, 404: 'no such model, or it has no log' },
  },
}
