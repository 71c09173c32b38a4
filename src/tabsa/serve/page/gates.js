// What the memory kept: the words shaded by the gates of a model that has them, apart from what carries an answer.

import { make } from "./dom.js";
import { toUnits } from "./text.js";

/**
 * @typedef {{text: string, start: number, end: number, target: number | null}} Token
 * @typedef {{start: number, end: number, targets: string[], tokens: Token[], gates: number[][][] | null}} Passage
 *   gates by direction, token and chain of the memory
 * @typedef {{passages: Passage[], attention: number[][][] | null, aspects: string[],
 *            unread?: {target: string, spans: number[][]}[]}} Explanation
 *   attention by target, aspect and chain
 */

const ABOUT =
  "How far each word rewrote the model’s memory while it read, from 0 (white: kept as it was) to 1 (red: rewritten), " +
  "over both directions and the chains as this question weighs them. It shows where the model took notice; what " +
  "carries this answer is above.";

/** @param {import("./why.js").Answer} answer @param {import("./state.js").Cell} cell */
export function shaded({ text, explanation }, cell) {
  const passages = explanation?.passages.filter(({ targets, gates }) => gates && targets.includes(cell.target)) ?? [];
  if (!explanation || !passages.length) return null;
  const unit = toUnits(text);
  const element = make("div.words", { dir: "auto", id: "gate-words" });
  let reached = 0;
  for (const passage of passages) {
    const values = gateValues(explanation, passage, cell);
    passage.tokens.forEach(({ start, end }, token) => {
      const word = make("span.gate", { title: values[token].toFixed(2) }, text.slice(unit(start), unit(end)));
      word.style.setProperty("--w", values[token].toFixed(4));
      element.append(text.slice(reached, unit(start)), word);
      reached = unit(end);
    });
  }
  element.append(text.slice(reached));
  return make("details.memory", { id: "memory", open: document.getElementById("memory")?.open },
    make("summary", "What the memory kept"),
    make("p.note", ABOUT),
    element,
  );
}

/** For each token the mean of its gates over directions, and over chains as the question weighs them.
 * @param {Explanation} explanation @param {Passage} passage @param {import("./state.js").Cell} cell */
function gateValues({ attention, aspects }, { targets, tokens, gates }, cell) {
  const chains = gates[0][0].length;
  const weights =
    attention?.[targets.indexOf(cell.target)]?.[aspects.indexOf(cell.aspect)] ?? Array(chains).fill(1 / chains);
  return tokens.map((_, token) => {
    const each = gates.flatMap((direction) => weights.map((weight, chain) => weight * direction[token][chain]));
    return each.reduce((sum, value) => sum + value, 0) / gates.length;
  });
}
