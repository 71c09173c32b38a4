// A question to the service, and its answer as the page has it.

import { wellFormed } from "./text.js";

/**
 * @typedef {{text: string, opinions: import("./states.js").Opinion[], mentions: import("./editor.js").Mention[],
 *            explanation: import("./gates.js").Explanation | null}} Answer
 */

/** What is asked of a text. @param {import("./state.js").State} state @param {boolean} implied */
export function questionOf({ text, targets, aspects }, implied) {
  const names = targets.map(({ name, aliases }) => (aliases.length ? { name, aliases } : name));
  return { text: wellFormed(text), targets: names, aspects, implied, explain: true };
}

/** An answer in which what the text is about and does not name is "", as everywhere here. @param {any} given */
export function withNames(given) {
  for (const opinion of given.opinions) opinion.target ??= "";
  for (const passage of given.explanation?.passages ?? [])
    passage.targets = passage.targets.map((/** @type {string | null} */ target) => target ?? "");
  for (const one of given.explanation?.unread ?? []) one.target ??= "";
  return /** @type {Answer} */ (given);
}
