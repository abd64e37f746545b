/*
 * Noncharacters: Unicode promises that no text contains them, so they can stand in a rendered prompt for what is ours alone.
 * They are taken out of everything that users wrote before it meets a template.
 */

/** A place where the prompt is cut in two before it is tokenised (P15). */
export const CUT = '\uFDD0'

/** Stands in for a system message's text, to find where the template puts it. */
export const SYSTEM_PLACE = '\uFDD1'

/** The end of a message that the model is to continue (E4). */
export const CONTINUE_HERE = '\uFDD2'

/** Before a key of an object that is a number. */
export const NUMBER_KEY = '\uFDD3'

const MARKS = /[\uFDD0-\uFDD3]/g

export function withoutMarks(text: string): string {
  return text.replace(MARKS, '')
}
