// The text as it is typed, with the mentions of targets underlined beneath it; selected words become a target.

import { bdi, button, byId, fill, make } from "./dom.js";
import { asName, moved, sameName, toUnits } from "./text.js";

/** @typedef {import("./text.js").Target} Target */

const PASTED = 20; // characters that come at once are not typed
const MOST_OFFERED = 5; // targets that selected words may be another name of
const GAP = 12; // pixels between the pointer and the bar

/**
 * The text box lies over a copy of its text, whose letters are transparent and whose marks show through; the copy also
 * gives the box its height.
 * @param {(text: string, pasted: boolean) => void} typed
 */
export function attachEditor(typed) {
  const [box, copy] = [byId("text"), byId("copy")];
  let marks = [];
  let text = "";

  function draw() {
    let reached = 0;
    const parts = marks.flatMap(({ span: [start, end] }) => {
      const part = [text.slice(reached, start), make("mark", text.slice(start, end))];
      reached = end;
      return part;
    });
    fill(copy, ...parts, text.slice(reached), "\n"); // the last line end has no height of its own
  }

  /** @param {string} now */
  function edited(now) {
    marks = moved(marks, text, now);
    text = now;
    draw();
  }

  box.addEventListener("input", (/** @type {InputEvent} */ event) => {
    const pasted = /Paste|Drop/.test(event.inputType) || (event.data?.length ?? 0) > PASTED;
    edited(box.value);
    typed(text, pasted);
  });

  return {
    /** Show another text. @param {string} other */
    show(other) {
      if (other === box.value) return;
      box.value = other;
      edited(box.value);
    },
    /** Underline what the service found in a text. @param {string} read @param {{spans: number[][]}[]} mentions */
    underline(read, mentions) {
      const unit = toUnits(read);
      const spans = mentions.flatMap((one) => one.spans).map(([start, end]) => ({ span: [unit(start), unit(end)] }));
      spans.sort((a, b) => a.span[0] - b.span[0]);
      marks = moved(spans, read, text);
      draw();
    },
  };
}

/**
 * Offer to make words that are selected in the text, or in its reading, a target or another name of one.
 * @param {{targets: () => Target[], add: (name: string) => void, alias: (alias: string, target: string) => void}} what
 */
export function attachMarking({ targets, add, alias }) {
  const [bar, box] = [byId("mark"), byId("text")];
  let pointer = null; // where the mouse let go
  let timer = 0;
  let shown = "";

  function selected() {
    if (document.activeElement === box) return box.value.slice(box.selectionStart, box.selectionEnd);
    const selection = document.getSelection();
    return byId("why").contains(selection?.anchorNode ?? null) ? String(selection) : "";
  }

  function hide() {
    bar.hidden = true;
    shown = "";
  }

  /** @param {() => void} act */
  const then = (act) => () => {
    act();
    hide();
    document.getSelection()?.removeAllRanges();
    box.focus({ preventScroll: true });
    box.setSelectionRange(box.selectionEnd, box.selectionEnd);
  };

  function look() {
    if (bar.contains(document.activeElement)) return;
    const words = asName(selected());
    const known = targets().flatMap(({ name, aliases }) => [name, ...aliases]);
    if (!words || known.some((other) => sameName(other, words))) return hide();
    if (words === shown) return;
    const others = targets().slice(0, MOST_OFFERED);
    const same = others.map(({ name }) => button(["= ", bdi(name)], then(() => alias(words, name))));
    const first = button(["Add “", bdi(words), "” as a target"], then(() => add(words)), { class: "primary" });
    fill(bar, first, same.length > 0 && make("span", "or another name:"), ...same);
    shown = words;
    bar.hidden = false;
    place();
  }

  function place() {
    const around = byId("paper").getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = bar;
    const { clientWidth, clientHeight } = document.documentElement;
    const x = pointer ? pointer.x - width / 2 : around.left + GAP;
    const below = pointer ? pointer.y + GAP : Math.min(around.bottom, clientHeight) - height - GAP;
    const y = pointer && below + height > clientHeight ? pointer.y - height - GAP : below;
    bar.style.left = `${Math.max(GAP, Math.min(x, clientWidth - width - GAP))}px`;
    bar.style.top = `${y}px`;
  }

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 120);
  };
  document.addEventListener("pointerup", (event) => {
    pointer = event.pointerType === "mouse" ? { x: event.clientX, y: event.clientY } : null;
    soon();
  });
  document.addEventListener("keydown", (event) => {
    pointer = null;
    if (event.key !== "Escape" || bar.hidden) return;
    if (bar.contains(document.activeElement)) box.focus();
    hide();
  });
  document.addEventListener("selectionchange", soon);
  bar.addEventListener("mousedown", (/** @type {Event} */ event) => event.preventDefault()); // keeps the selection
  bar.addEventListener("focusout", soon);
  addEventListener("scroll", hide, { passive: true });
}
