import { ModelyardError } from '../base/errors.ts'
import { defineEngine } from '../engines/custom/define-engine.ts'
import { NO_CAPABILITIES } from '../engines/engine.ts'
import { contentText } from '../tasks/message.ts'

/** What `import … from 'modelyard'` gives in a configuration's programs, wherever they are: this very copy, not another installed one. */
const OWN_MODULE = { contentText, defineEngine, ModelyardError, NO_CAPABILITIES }

/**
 * The default export of a TypeScript or JavaScript module, or what that function returns. Never cached, so that an edit is seen.
 * `module`: a path, or a package's name as seen from the file `from`. @throws whatever the module does
 */
export async function runProgram(module: string, from: string): Promise<unknown> {
  const { createJiti } = await import('jiti')
  const jiti = createJiti(from, {
    moduleCache: false,
    fsCache: false,
    virtualModules: { modelyard: OWN_MODULE },
  })
  const exported: unknown = await jiti.import(module, { default: true })
  return typeof exported === 'function' ? await (exported as () => unknown)() : exported
}
