// A text with its words marked by how much they carry an answer.

import { make } from "./dom.js";
import { look, points } from "./states.js";
import { pieces, toUnits } from "./text.js";

/**
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./evidence.js").Evidence} Evidence
 * @typedef {import("./text.js").Span} Span
 */

const LEAST_WEIGHT = 0.03; // of a probability: a word of less is not marked
const LEAST_SCALE = 0.15; // what is marked to the full where no word weighs more

/**
 * The text: what carries the answer has a ground and a line under it, both the stronger the more it weighs; what speaks
 * against it has a broken line and no ground; the target's names are bold; what was not read is grey.
 * @param {Answer} answer
 * @param {string} target
 * @param {Evidence | null} evidence null until it is known
 * @param {string} polarity
 */
export function weighed({ text, mentions, explanation }, target, evidence, polarity) {
  const unit = toUnits(text);
  /** @param {{start: number, end: number}} part @returns {Span} */
  const spanOf = ({ start, end }) => [unit(start), unit(end)];
  const named = mentions
    .flatMap((one) => one.spans.map(([start, end]) => ({ start, end, asked: one.target === target })))
    .sort((a, b) => a.start - b.start);
  const grey = (explanation?.unread ?? []).find((one) => one.target === target)?.spans ?? [];
  const words = evidence?.words ?? [];
  const top = [...(evidence?.phrases ?? [])].sort((a, b) => a.start - b.start);
  const scale = Math.max(LEAST_SCALE, ...words.map(({ weight }) => Math.abs(weight)));
  const layers = [
    words.map(spanOf),
    named.map(spanOf),
    grey.map(([start, end]) => spanOf({ start, end })),
    top.map(spanOf),
  ];
  /** @type {HTMLElement | null} */
  let strongest = null;
  const parts = pieces(text.length, layers).map(({ span: [start, end], at: [word, mention, unread, phrase] }) => {
    const content = text.slice(start, end);
    const weight = word === null ? 0 : words[word].weight;
    const marked = Math.abs(weight) >= LEAST_WEIGHT;
    const looks = [
      marked && (weight > 0 ? "carries" : "against"),
      phrase !== null && "phrase",
      mention !== null && (named[mention].asked ? "asked" : "beside"),
      unread !== null && "unread",
    ].filter(Boolean);
    if (!looks.length && word === null) return content;
    const part = make(
      "span",
      { class: looks.join(" ") || null, title: word === null ? null : points(-weight) },
      content,
    );
    if (word !== null) part.dataset.weight = weight.toFixed(4);
    if (marked) part.style.setProperty("--weight", (Math.abs(weight) / scale).toFixed(3));
    if (phrase !== null && evidence && top[phrase] === evidence.phrases[0]) strongest ??= part;
    return part;
  });
  const element = make(
    "div",
    {
      class: "words",
      dir: "auto",
      id: "words",
      role: "group",
      "aria-label": "The text",
      "data-tone": look(polarity).tone,
    },
    ...parts,
  );
  const tell = (/** @type {Event} */ event) => {
    const line = document.getElementById("readout");
    const part = /** @type {HTMLElement} */ (event.target);
    if (line) line.textContent = part.dataset?.weight ? `“\u2068${part.textContent}\u2069” ${part.title}` : "";
  };
  element.addEventListener("pointerover", tell);
  element.addEventListener("click", tell);
  return { element, strongest: /** @type {HTMLElement | null} */ (strongest) };
}
