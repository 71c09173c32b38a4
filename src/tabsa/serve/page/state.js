// The question and the view of its answer: everything that a link reproduces.

import { store, stored } from "./dom.js";
import { readAspects, readTargets, wellFormed, writeAspects, writeTarget } from "./text.js";

/**
 * @typedef {import("./text.js").Target} Target
 * @typedef {{target: string, aspect: string}} Cell
 * @typedef {{text: string, targets: Target[], implied: boolean | null, aspects: string[] | null,
 *            cell: Cell | null}} State
 *   `implied` and `aspects`: null means as the model has it; a target "" is what the text is about and does not name
 */

/** @type {State} */
export const EMPTY = Object.freeze({ text: "", targets: [], implied: null, aspects: null, cell: null });

const STORED_ASPECTS = "tabsa-aspects";
const LONGEST_LINK = 100_000; // characters that browsers carry without harm

/** The aspects that were chosen last in this browser; null: the model's own. @returns {string[] | null} */
export function lastAspects() {
  const found = stored(localStorage, STORED_ASPECTS);
  return Array.isArray(found) && found.length && found.every((one) => typeof one === "string") ? found : null;
}

/** @param {string[] | null} aspects */
export function rememberAspects(aspects) {
  store(localStorage, STORED_ASPECTS, aspects?.length ? aspects : null);
}

/** The fragment of a link; the browser never sends it to a server. @param {State} state */
export function toFragment(state) {
  const given = new URLSearchParams();
  if (state.text) given.append("text", state.text);
  for (const target of state.targets) given.append("target", writeTarget(target));
  if (state.implied !== null) given.append("implied", state.implied ? "yes" : "no");
  if (state.aspects) given.append("aspects", writeAspects(state.aspects));
  if (state.cell) {
    given.append("of", state.cell.target);
    given.append("on", state.cell.aspect);
  }
  const fragment = given.toString();
  return fragment.length > LONGEST_LINK ? "" : fragment;
}

/** @param {string} fragment @returns {State} */
export function fromFragment(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const [aspects, implied] = [given.get("aspects"), given.get("implied")];
  const [of, on] = [given.get("of"), given.get("on")];
  return {
    text: given.get("text") ?? "",
    targets: given.getAll("target").flatMap(readTargets),
    implied: implied === null ? null : implied === "yes",
    aspects: aspects === null ? null : readAspects(aspects),
    cell: of !== null && on !== null ? { target: of, aspect: on } : null,
  };
}

/** The body of a request. @param {State} state @param {boolean} implied */
export function questionOf({ text, targets, aspects }, implied) {
  const names = targets.map(({ name, aliases }) => (aliases.length ? { name, aliases } : name));
  return { text: wellFormed(text), targets: names, aspects, implied };
}

/** Whether two cells are the same. @param {Cell | null} a @param {Cell | null} b */
export function sameCell(a, b) {
  return a?.target === b?.target && a?.aspect === b?.aspect;
}
