// The text as it is typed, with the mentions of targets underlined beneath it.

import { byId, fill, make } from "./dom.js";
import { moved, toUnits } from "./text.js";

/**
 * @typedef {import("./text.js").Span} Span
 * @typedef {{target: string, spans: Span[]}} Mention
 */

/**
 * The text box lies over a copy of its text, whose letters are transparent and whose marks show through; the copy also
 * gives the box its height.
 * @param {(text: string) => void} typed
 */
export function attachEditor(typed) {
  const box = byId("text");
  const behind = byId("behind");
  /** @type {{span: Span}[]} */
  let marks = [];
  let text = "";

  function draw() {
    const pieces = [];
    let reached = 0;
    for (const {
      span: [start, end],
    } of marks) {
      pieces.push(text.slice(reached, start), make("mark", {}, text.slice(start, end)));
      reached = end;
    }
    fill(behind, ...pieces, text.slice(reached), "\n"); // the last line end has no height of its own
  }

  /** @param {string} now */
  function edited(now) {
    marks = moved(marks, text, now);
    text = now;
    draw();
  }

  box.addEventListener("input", () => {
    edited(box.value);
    typed(text);
  });

  return {
    /** Shows another text. @param {string} other */
    show(other) {
      if (other === box.value) return;
      box.value = other;
      edited(box.value);
    },
    /** Underlines what the service found in a text. @param {string} read @param {Mention[]} mentions */
    underline(read, mentions) {
      const unit = toUnits(read);
      marks = mentions
        .flatMap(({ spans }) => spans.map(([start, end]) => ({ span: /** @type {Span} */ ([unit(start), unit(end)]) })))
        .sort((a, b) => a.span[0] - b.span[0]);
      marks = moved(marks, read, text);
      draw();
    },
  };
}
