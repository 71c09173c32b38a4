// How an answer looks: an opinion, a thing spoken of, silence, and what was never read are told apart by sign, word and
// ground, never by colour alone; an answer that the model is less than 55% sure of is outlined, not filled.

import { make } from "./dom.js";

/** @typedef {{target: string, aspect: string, polarity: string, probabilities: Record<string, number>}} Opinion */

const SIGNS = { positive: "▲", negative: "▼", neutral: "○", mixed: "◆", none: "–" };
const MEANINGS = { neutral: "spoken of, not judged", none: "nothing said" };
const UNSURE = 0.55;

/** A polarity as a sign, as a word, and as the class that has its colours. @param {string} polarity */
export function look(polarity) {
  const known = Object.hasOwn(SIGNS, polarity); // a model may have labels of its own
  const word = polarity === "none" ? "silent" : polarity;
  return { sign: known ? SIGNS[polarity] : "●", word, tone: known ? word : "other" };
}

/** How sure the model is of an answer. @param {Opinion} opinion */
export function certainty({ polarity, probabilities }) {
  const probability = probabilities[polarity];
  return { probability, percent: percent(probability), unsure: probability < UNSURE };
}

/** What is added to a number of opinions where some are unsure. @param {number} number */
export const ofWhichUnsure = (number) => (number ? `, of which ${number.toLocaleString("en")} unsure` : "");

/** A probability of 0.996 is not certainty, and is not shown as if it were. @param {number} probability */
export function percent(probability) {
  if (probability > 0.99 && probability < 1) return ">99%";
  return probability > 0 && probability < 0.01 ? "<1%" : `${Math.round(probability * 100)}%`;
}

/** What a probability gains or loses, as points of a hundred: −0.634 is "−63 points". @param {number} change */
export function points(change) {
  const whole = Math.round(change * 100);
  const sign = whole < 0 ? "−" : whole > 0 ? "+" : "";
  return `${sign}${Math.abs(whole)} point${Math.abs(whole) === 1 ? "" : "s"}`;
}

/** A polarity as a tag. @param {string} polarity @param {boolean} [unsure] */
export function tag(polarity, unsure = false) {
  const { sign, word, tone } = look(polarity);
  const classes = `tag ${tone}${unsure ? " unsure" : ""}`;
  return make("span", { class: classes }, make("span", { "aria-hidden": true }, `${sign} `), word);
}

/** What the signs of a table mean.
 * @param {(Opinion & {right: string | null})[]} opinions `right`: what a person said is right
 * @param {boolean} unread a target is not in the text */
export function legend(opinions, unread) {
  const found = new Set(opinions.map(({ polarity, right }) => right ?? polarity));
  const labels = [...found].sort((a, b) => rank(a) - rank(b));
  const entries = labels.map((label) => ({ ...look(label), means: MEANINGS[label] }));
  if (opinions.some((one) => one.right === null && certainty(one).unsure))
    entries.push({ sign: "", word: "outlined", tone: "other unsure", means: "less than 55% sure" });
  if (opinions.some(({ polarity, right }) => (right ?? polarity) !== polarity))
    entries.push({ sign: "✎", word: "your correction", tone: "silent" });
  if (unread) entries.push({ sign: "", word: "not read", tone: "not-read", means: "not in the text" });
  const lines = entries.map(({ sign, word, tone, means }) =>
    make("li", make("span", { class: `sample ${tone}`, "aria-hidden": true }, sign), word, means && `: ${means}`),
  );
  return make("ul.legend", { "aria-label": "What the signs mean" }, ...lines);
}

/** The place of a polarity in a legend; labels of a model's own come first. @param {string} polarity */
const rank = (polarity) => Object.keys(SIGNS).indexOf(polarity);
