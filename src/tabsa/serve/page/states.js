// How an answer looks: an opinion, a thing spoken of, silence, and what was never read are told apart by sign, word and
// ground, never by colour alone.

import { make } from "./dom.js";

/** @typedef {{target: string, aspect: string, polarity: string, probabilities: Record<string, number>}} Opinion */

/** @type {Record<string, string>} */
const SIGNS = { positive: "▲", negative: "▼", neutral: "○", mixed: "◆", none: "·" };
/** @type {Record<string, string>} what the legend says of a polarity beyond its name */
const MEANINGS = { neutral: "spoken of, not judged", none: "nothing said" };
/** The look of a cell whose target is nowhere in the text. */
export const NOT_READ = Object.freeze({ sign: "–", word: "not read", tone: "not-read" });

/** A polarity as a sign, as a word, and as the name of its colours. @param {string} polarity */
export function look(polarity) {
  const known = Object.hasOwn(SIGNS, polarity); // a model may have labels of its own
  const word = polarity === "none" ? "silent" : polarity;
  return { sign: known ? SIGNS[polarity] : "●", word, tone: known ? polarity : "other" };
}

/** What is said of an opinion. @param {Opinion} opinion */
export function told({ polarity, probabilities }) {
  const share = probabilities[polarity];
  return { ...look(polarity), share, percent: percent(share) };
}

/** A probability of 0.996 is not certainty, and is not shown as if it were. @param {number} probability */
export function percent(probability) {
  return probability < 1 ? Math.min(99, Math.round(probability * 100)) : 100;
}

/** What a probability gains or loses, as points of a hundred: −0.634 is "−63 points". @param {number} change */
export function points(change) {
  const whole = Math.round(change * 100);
  const sign = whole < 0 ? "−" : whole > 0 ? "+" : "";
  return `${sign}${Math.abs(whole)} point${Math.abs(whole) === 1 ? "" : "s"}`;
}

/** A polarity as a tag. @param {string} polarity */
export function tag(polarity) {
  const { sign, word, tone } = look(polarity);
  return make("span", { class: `tag ${tone}` }, make("span", { "aria-hidden": true }, `${sign} `), word);
}

/**
 * What the signs of a table mean: of the model's labels, and of what else the table shows.
 * @param {string[]} labels
 * @param {{unread: boolean, wrong: boolean}} more
 */
export function legend(labels, { unread, wrong }) {
  const [silent, ...opinions] = [...labels].sort((a, b) => Number(b === "none") - Number(a === "none"));
  const order = [
    ...opinions.filter((one) => one !== "neutral"),
    ...opinions.filter((one) => one === "neutral"),
    silent,
  ];
  const entries = order.map((label) => ({ ...look(label), means: MEANINGS[label] }));
  const all = [
    ...entries,
    ...(unread ? [{ ...NOT_READ, means: "not in the text" }] : []),
    ...(wrong ? [{ sign: "✗", word: "wrong", tone: "wrong", means: "as a person reads it" }] : []),
  ];
  const lines = all.map(({ sign, word, tone, means }) =>
    make(
      "li",
      {},
      make("span", { class: `state-key ${tone}`, "aria-hidden": true }, sign),
      word,
      means && make("small", {}, `: ${means}`),
    ),
  );
  return make("ul", { class: "legend-states", "aria-label": "What the signs mean" }, ...lines);
}
