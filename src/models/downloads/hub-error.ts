import { ModelyardError } from '../../base/errors.ts'
import type { HubSource } from '../hub-source.ts'

/** What a repository does not have. `what` goes on where its name ends. */
export function notInRepository({ repository, revision }: HubSource, what: string): ModelyardError {
  return new ModelyardError('model_not_found', `${repository} (${revision}) ${what}`, {
    details: { repository, revision },
  })
}

/** What is wrong with a repository's files. */
export function wrongRepository({ repository, revision }: HubSource, what: string): ModelyardError {
  return new ModelyardError('model_file_invalid', `${repository} (${revision}) ${what}`, {
    details: { repository, revision },
  })
}
