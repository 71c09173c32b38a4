// Which words carry an answer: asked of the service when a cell is chosen, and kept.

import { post } from "./api.js";
import { questionOf } from "./answer.js";
import { latest } from "./live.js";

/**
 * @typedef {import("./text.js").Span} Span
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./state.js").State} State
 * @typedef {{start: number, end: number, weight: number}} Weighed
 * @typedef {{start: number, end: number, polarity: string, probabilities: Record<string, number>}} Sentence
 * @typedef {{target: string | null, aspect: string, polarity: string, probability: number, words: Weighed[],
 *            phrases: Weighed[], sentences: Sentence[], unread: Span[]}} Evidence
 *   a weight is what the answer's probability loses without these words; below 0 they speak against it
 * @typedef {{state: "waiting"} | {state: "told", evidence: Evidence}
 *           | {state: "failed", problem: import("./api.js").Problem}} Progress
 */

const DELAY = 150; // milliseconds between the choice of a cell and the question
const MOST_KEPT = 200;

/**
 * @param {{question: () => {state: State, implied: boolean}, changed: () => void}} what `changed`: there is news of the
 *   cell that was asked for last
 */
export function attachEvidence({ question, changed }) {
  /** @type {Map<string, Evidence>} */
  const kept = new Map();
  /** @type {{key: string, body: object} | null} */
  let wanted = null;
  /** @type {import("./api.js").Problem | null} */
  let problem = null;

  /** @param {Cell} cell */
  function asking({ target, aspect }) {
    const { state, implied } = question();
    const { explain: _, ...asked } = questionOf(state, implied);
    const body = { ...asked, of: { target: target || null, aspect } };
    return { key: JSON.stringify(body), body };
  }

  /** @param {string} key @param {Evidence} evidence */
  function keep(key, evidence) {
    kept.set(key, evidence);
    if (kept.size > MOST_KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
  }

  const live = latest({
    delay: DELAY,
    run: async (signal) => {
      const { key, body } = /** @type {{key: string, body: object}} */ (wanted);
      keep(key, await post("v1/evidence", body, signal));
    },
    answered: () => changed(),
    failed: (told) => {
      problem = told;
      changed();
    },
  });

  return {
    /** Where the evidence of a cell stands; asks for it where it is not known. @param {Cell} cell @returns {Progress} */
    of(cell) {
      const asked = asking(cell);
      const evidence = kept.get(asked.key);
      if (evidence) {
        if (wanted?.key !== asked.key) live.stop();
        wanted = asked;
        return { state: "told", evidence };
      }
      if (wanted?.key === asked.key && problem) return { state: "failed", problem };
      if (wanted?.key !== asked.key) {
        [wanted, problem] = [asked, null];
        live.ask();
      }
      return { state: "waiting" };
    },
    /** Asks once more after a failure. */
    again() {
      problem = null;
      live.ask(0);
      changed();
    },
    /** Nothing is looked at now. */
    stop() {
      wanted = null;
      live.stop();
    },
    /** The evidence of a cell, whatever is looked at meanwhile. @param {Cell} cell @returns {Promise<Evidence>} */
    async fetch(cell) {
      const { key, body } = asking(cell);
      const evidence = kept.get(key) ?? (await post("v1/evidence", body));
      keep(key, evidence);
      return evidence;
    },
  };
}
