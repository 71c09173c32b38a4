// What the memory kept: the words shaded by the gates of a model that has them, apart from what carries an answer.

import { fill, make, redraw, unseen } from "./dom.js";
import { passagesOf, valuesOf, weightsOf } from "./gates.js";
import { attentionBars, telling, valueRows, valueTable, widest } from "./measures.js";
import { toUnits } from "./text.js";
import { controls, possible } from "./view.js";

/**
 * @typedef {import("./gates.js").Explanation} Explanation
 * @typedef {import("./gates.js").Passage} Passage
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./view.js").View} View
 * @typedef {import("./measures.js").Word} Word
 */

/** @param {{change: (view: Partial<View>) => void}} what */
export function attachMemory({ change }) {
  const above = make("div"); // the words stay while what is below them changes, so that their shades can move
  const below = make("div");
  const about =
    "How far each word rewrote the model’s memory while it read: where it took notice, whatever the question. What " +
    "carries this answer is above.";
  const box = make(
    "details",
    { class: "memory", id: "memory" },
    make("summary", {}, "What the memory kept"),
    make("p", { class: "note" }, about),
    above,
    below,
  );
  /** @type {{answer: Answer, cell: Cell, passages: Passage[], spans: HTMLElement[][], view: View} | null} */
  let drawn = null;
  /** @type {Word[]} */
  let words = [];

  box.addEventListener("pointerover", readOut);
  box.addEventListener("click", readOut);
  box.addEventListener("pointerleave", () => readOut(null));

  /** @param {Event | null} event */
  function readOut(event) {
    const line = document.getElementById("gate-readout");
    const pointed = event && words.find((word) => word.span === event.target);
    if (!line || !drawn) return;
    line.textContent = pointed ? telling(pointed, directionsOf(drawn)) : widest(words);
  }

  /** Shades the words as the view asks. */
  function shade() {
    if (!drawn) return;
    const { answer, cell, passages, spans, view } = drawn;
    const explanation = /** @type {Explanation} */ (answer.explanation);
    const asked = directionsOf(drawn).map((direction) => explanation.directions.indexOf(direction));
    words = [];
    passages.forEach((passage, place) => {
      const weights = weightsOf(explanation, passage, cell, view.chain);
      const values = weights && valuesOf(passage, weights, asked);
      spans[place].forEach((span, token) => {
        const value = values?.[token].value ?? 0;
        span.style.setProperty("--gate-value", value.toFixed(4));
        if (values) words.push({ span, text: passage.tokens[token].text, ...values[token] });
      });
    });
    readOut(null);
    const table = document.getElementById("values");
    if (table) fill(table, ...valueRows(words, directionsOf(drawn)));
  }

  return {
    /**
     * The view of a cell, or null where the model has no gates.
     * @param {Answer} answer @param {Cell} cell @param {View} view
     */
    show(answer, cell, view) {
      const { explanation } = answer;
      const passages = explanation ? passagesOf(explanation, cell.target) : [];
      if (!explanation || !passages.some((passage) => passage.gates)) {
        drawn = null;
        return null;
      }
      const now = possible(explanation, passages, view);
      const otherText = drawn?.answer !== answer || drawn.cell.target !== cell.target;
      const otherCell = otherText || drawn?.cell.aspect !== cell.aspect;
      if (otherText) {
        const { element, spans } = running(answer.text, passages, cell.target);
        fill(above, element);
        drawn = { answer, cell, passages, spans, view: now };
      }
      Object.assign(/** @type {object} */ (drawn), { cell, view: now });
      if (otherCell)
        redraw(
          below,
          scale(),
          controls(explanation, passages, now, change),
          make("div", { class: "bars-row" }, ...attentionBars(explanation, passages, cell)),
          valueTable(explanation),
        );
      return box;
    },
    /** Once it is in the page. */
    shade,
    /** Shows it by itself, as a link to one of its views asks. */
    unfold() {
      /** @type {HTMLDetailsElement} */ (box).open = true;
    },
  };
}

/** The directions that are shown. @param {{answer: Answer, view: View}} drawn @returns {string[]} */
function directionsOf({ answer, view }) {
  const all = answer.explanation?.directions ?? [];
  return all.includes(view.direction) ? [view.direction] : all;
}

/**
 * The whole text with a span for each token that was read for the target.
 * @param {string} text
 * @param {Passage[]} passages
 * @param {string} target
 */
function running(text, passages, target) {
  const unit = toUnits(text);
  const element = make("div", { class: "words", dir: "auto", id: "gate-words", tabindex: 0, role: "group" });
  element.setAttribute("aria-label", "The text, shaded by the gates");
  /** @type {HTMLElement[][]} */
  const spans = [];
  let reached = 0;
  for (const passage of passages) {
    if (unit(passage.start) > reached) {
      element.append(make("span", { class: "unread" }, text.slice(reached, unit(passage.start))));
      reached = unit(passage.start);
    }
    spans.push(
      passage.tokens.map((token) => {
        const [start, end] = [unit(token.start), unit(token.end)];
        element.append(text.slice(reached, start));
        const mention = token.target === null ? "" : passage.targets[token.target] === target ? " asked" : " beside";
        const span = make("span", { class: `shaded${mention}` }, text.slice(start, end));
        element.append(span);
        reached = end;
        return span;
      }),
    );
  }
  if (reached < text.length) element.append(make("span", { class: "unread" }, text.slice(reached)));
  return { element, spans };
}

function scale() {
  return make(
    "div",
    { class: "scale" },
    make(
      "p",
      { class: "legend" },
      "Gate ",
      make("span", {}, "0 ", unseen("means the "), "memory ", unseen("is "), "kept"),
      make("span", { class: "ramp", "aria-hidden": true }),
      make("span", {}, unseen("and "), "1 ", unseen("means it is "), "rewritten"),
    ),
    make("output", { id: "gate-readout" }),
  );
}
