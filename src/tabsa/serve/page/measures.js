// What an answer is made of, in numbers: bars, a table, a line.

import { make, name } from "./dom.js";
import { attentionOf, chainsOf } from "./gates.js";
import { look, percent } from "./states.js";

/**
 * @typedef {import("./gates.js").Explanation} Explanation
 * @typedef {import("./gates.js").Passage} Passage
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./states.js").Opinion} Opinion
 * @typedef {{label: string, value: number, tone: string, told: number}} Row
 * @typedef {{span: HTMLElement, text: string, value: number, each: number[]}} Word
 */

const MOST_ATTENTION = 3; // ways in which passages may differ
const MOST_TOLD = 3; // words that are named as those with the widest gates

/** @param {Opinion} opinion */
export function probabilityBars({ probabilities }) {
  const rows = Object.entries(probabilities).map(([polarity, value]) => {
    const { word, tone } = look(polarity);
    return { label: word, value, tone, told: percent(value) };
  });
  return bars("Probabilities", rows);
}

/**
 * The key attention of the question. Which chain follows which target may differ from passage to passage.
 * @param {Explanation} explanation
 * @param {Passage[]} passages
 * @param {Cell} cell
 */
export function attentionBars(explanation, passages, cell) {
  /** @type {Map<string, Row[]>} */
  const different = new Map();
  for (const passage of passages) {
    const shares = attentionOf(explanation, passage, cell);
    if (!shares) return [];
    const rows = chainsOf(passage, explanation.tied).map(({ label }, chain) => {
      const value = shares[chain];
      return { label, value, tone: "other", told: Math.round(value * 100) };
    });
    const alike = rows.map(({ label, told }) => JSON.stringify([label, told])).sort();
    different.set(alike.join(), rows);
  }
  return [...different.values()].slice(0, MOST_ATTENTION).map((rows) => bars("Key attention of this question", rows));
}

/** Shares of a whole, as a small table with bars. @param {string} title @param {Row[]} rows */
function bars(title, rows) {
  const lines = rows.map(({ label, value, tone, told }) => {
    const bar = make("span", { class: `level ${tone}`, "aria-hidden": true });
    bar.style.setProperty("--share", String(value));
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, name(label)),
      make("td", { class: "track" }, bar),
      make("td", { class: "number" }, `${told}%`),
    );
  });
  return make("table", { class: "bars" }, make("caption", {}, title), make("tbody", {}, ...lines));
}

/** @param {Explanation} explanation */
export function valueTable(explanation) {
  return make(
    "details",
    { class: "values" },
    make("summary", {}, "Every word’s value"),
    make(
      "div",
      { class: "values-frame", tabindex: 0, role: "group", "aria-label": "Gate values" },
      make("table", { id: "values", "data-directions": explanation.directions.length }),
    ),
  );
}

/** @param {Word[]} words @param {string[]} directions */
export function valueRows(words, directions) {
  const several = directions.length > 1;
  const titles = ["word", "gate", ...(several ? directions : [])];
  const head = make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)));
  const rows = words.map(({ text, value, each }) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, name(text)),
      ...[value, ...(several ? each : [])].map((one) => make("td", {}, one.toFixed(2))),
    ),
  );
  return [make("thead", {}, head), make("tbody", {}, ...rows)];
}

/** @param {Word} word @param {string[]} directions */
export function telling({ text, value, each }, directions) {
  const parts =
    directions.length > 1 ? directions.map((direction, place) => `${direction} ${each[place].toFixed(2)}`) : [];
  return [`${quoted(text)} ${value.toFixed(2)}`, ...parts].join(" · ");
}

/** @param {Word[]} words */
export function widest(words) {
  const top = [...words].sort((a, b) => b.value - a.value).slice(0, MOST_TOLD);
  return top.length
    ? `Widest open at ${top.map(({ text, value }) => `${quoted(text)} ${value.toFixed(2)}`).join(", ")}`
    : "";
}

/** A word in quotes; its direction of writing stays inside them. @param {string} text */
function quoted(text) {
  return `“\u2068${text}\u2069”`;
}
