// Why: the words shaded by the gates of the memory, and what the answer is made of.

import { byId, fill, make, name, redraw, unseen } from "./dom.js";
import { passagesOf, valuesOf, weightsOf } from "./gates.js";
import { told } from "./grid.js";
import { attentionBars, probabilityBars, telling, valueRows, valueTable, widest } from "./measures.js";
import { shownTarget, toUnits } from "./text.js";
import { controls, possible } from "./view.js";

/**
 * @typedef {import("./gates.js").Explanation} Explanation
 * @typedef {import("./gates.js").Passage} Passage
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./grid.js").Opinion} Opinion
 * @typedef {{text: string, opinions: Opinion[], explanation: Explanation | null}} Answer
 * @typedef {import("./view.js").View} View
 * @typedef {import("./measures.js").Word} Word
 */

/** @param {{change: (view: Partial<View>) => void}} what */
export function attachReading({ change }) {
  const into = byId("why");
  const below = make("div"); // the words stay while what is below them changes, so that their shades can move
  /** @type {{answer: Answer, target: string, element: HTMLElement, spans: HTMLElement[][]} | null} */
  let text = null;
  /** @type {{answer: Answer, cell: Cell, passages: Passage[], spans: HTMLElement[][], view: View} | null} */
  let drawn = null;
  /** @type {Word[]} */
  let words = [];

  into.addEventListener("pointerover", readOut);
  into.addEventListener("click", readOut);
  into.addEventListener("pointerleave", () => readOut(null));

  /** @param {Event | null} event */
  function readOut(event) {
    const line = document.getElementById("readout");
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

  /** @param {Answer} answer @param {Cell} cell @param {View} view */
  function draw(answer, cell, view) {
    const opinion = answer.opinions.find((one) => one.target === cell.target && one.aspect === cell.aspect);
    drawn = null;
    fill(byId("verdict"), ...(opinion ? verdict(opinion) : []));
    if (!opinion) return redraw(into, hint(answer));
    const { explanation } = answer;
    const passages = explanation ? passagesOf(explanation, cell.target) : [];
    if (!explanation || !passages.length) {
      return redraw(into, note("The text does not mention ", cell.target, ", so nothing was read for it."));
    }
    if (text?.answer !== answer || text.target !== cell.target) {
      text = { answer, target: cell.target, ...running(answer.text, passages, cell.target) };
    }
    const { element, spans } = text;
    if (!passages.some((passage) => passage.gates)) {
      element.classList.add("plain");
      const none = make("p", { class: "note" }, "No words are shaded: this model has no gates.");
      return redraw(into, element, none, make("div", { class: "bars-row" }, probabilityBars(opinion)));
    }
    drawn = { answer, cell, passages, spans, view: possible(explanation, passages, view) };
    if (element.parentElement !== into) fill(into, element, below);
    redraw(
      below,
      scale(),
      controls(explanation, passages, drawn.view, change),
      make("div", { class: "bars-row" }, probabilityBars(opinion), ...attentionBars(explanation, passages, cell)),
      valueTable(explanation),
    );
    if (element.scrollHeight > element.clientHeight) element.tabIndex = 0; // so that keys can scroll it
    shade();
  }

  return {
    /** @param {Answer} answer @param {Cell | null} cell @param {View} view */
    show(answer, cell, view) {
      byId("reading-word").textContent = isGated(answer) ? "Why" : "Answer";
      const same =
        drawn &&
        cell &&
        drawn.answer === answer &&
        drawn.cell.target === cell.target &&
        drawn.cell.aspect === cell.aspect;
      if (same && drawn && answer.explanation) {
        drawn.view = possible(answer.explanation, drawn.passages, view);
        shade();
      } else if (cell) {
        draw(answer, cell, view);
      } else {
        drawn = null;
        fill(byId("verdict"));
        redraw(into, hint(answer));
      }
    },
    /** What the shades show, in words. */
    summary: () => (drawn ? widest(words) : ""),
  };
}

/** The directions that are shown. @param {{answer: Answer, view: View}} drawn @returns {string[]} */
function directionsOf({ answer, view }) {
  const all = answer.explanation?.directions ?? [];
  return all.includes(view.direction) ? [view.direction] : all;
}

/** Whether the model has gates to show; it is taken to have some where nothing was read. @param {Answer} answer */
function isGated({ explanation }) {
  return !explanation?.passages.length || explanation.directions.length > 0;
}

/** @param {Answer} answer */
function hint(answer) {
  return make(
    "p",
    { class: "hint" },
    isGated(answer)
      ? "Choose a cell of the table, and the words that moved the model’s memory light up here."
      : "Choose a cell of the table, and see how sure the model is.",
  );
}

/** @param {string} before @param {string} target @param {string} after */
function note(before, target, after) {
  return make("p", { class: "note" }, before, name(target), after);
}

/** @param {Opinion} opinion */
function verdict(opinion) {
  const { sign, word, tone, percent } = told(opinion);
  return [
    make("strong", {}, name(shownTarget(opinion.target))),
    " on ",
    name(opinion.aspect),
    " ",
    make("span", { class: `tag ${tone}` }, make("span", { "aria-hidden": true }, `${sign} `), word),
    ` ${percent}% sure`,
  ];
}

/**
 * The whole text with a span for each token that was read for the target.
 * @param {string} text
 * @param {Passage[]} passages
 * @param {string} target
 */
function running(text, passages, target) {
  const unit = toUnits(text);
  const element = make("div", { class: "words", dir: "auto", id: "words", role: "group", "aria-label": "The text" });
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
    make("output", { id: "readout" }),
  );
}
