// What is asked and what is looked at: everything that a link reproduces.

import { readAspects, readTargets, writeAspects, writeTarget } from "./text.js";

/**
 * @typedef {import("./text.js").Target} Target
 * @typedef {{target: string, aspect: string}} Cell
 * @typedef {{text: string, targets: Target[], implied: boolean | null, aspects: string[] | null, cell: Cell | null,
 *            direction: string, chain: string}} State `implied` and `aspects`: null means as the model has it
 */

/** @type {State} */
export const EMPTY = Object.freeze({
  text: "",
  targets: [],
  implied: null,
  aspects: null,
  cell: null,
  direction: "both",
  chain: "question",
});

const LONGEST_LINK = 60_000; // what browsers and chat programs carry without harm

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
  if (state.direction !== EMPTY.direction) given.append("direction", state.direction);
  if (state.chain !== EMPTY.chain) given.append("chain", state.chain);
  return given.toString();
}

/** @param {string} fragment @returns {State} */
export function fromFragment(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const aspects = given.get("aspects");
  const [of, on] = [given.get("of"), given.get("on")];
  const implied = given.get("implied");
  return {
    text: given.get("text") ?? "",
    targets: given.getAll("target").flatMap(readTargets),
    implied: implied === null ? null : implied === "yes",
    aspects: aspects === null ? null : readAspects(aspects),
    cell: of !== null && on !== null ? { target: of, aspect: on } : null,
    direction: given.get("direction") ?? EMPTY.direction,
    chain: given.get("chain") ?? EMPTY.chain,
  };
}

/** The address that shows this view again, or null where the text is too long for one. @param {State} state */
export function linkTo(state) {
  const fragment = toFragment(state);
  return fragment.length > LONGEST_LINK ? null : `${location.origin}${location.pathname}${fragment && `#${fragment}`}`;
}

/**
 * The one place where the state changes.
 * @param {State} state
 * @param {(state: State, changed: Partial<State>) => void} changed
 */
export function makeStore(state, changed) {
  return {
    get state() {
      return state;
    },
    /** @param {Partial<State>} patch */
    change(patch) {
      state = { ...state, ...patch };
      changed(state, patch);
    },
  };
}
