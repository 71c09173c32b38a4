// Words selected in the text become a target, or another name of one.

import { button, byId, fill, make, name } from "./dom.js";
import { asName, sameName } from "./text.js";

/** @typedef {import("./text.js").Target} Target */

const MOST_OFFERED = 5; // targets that the selection may be another name of
const GAP = 12; // pixels between the pointer and the bar

/**
 * @param {{targets: () => Target[], add: (name: string) => void, alias: (alias: string, target: string) => void}} what
 */
export function attachMarking({ targets, add, alias }) {
  const bar = byId("mark");
  const box = byId("text");
  /** @type {{x: number, y: number} | null} where the mouse let go */
  let pointer = null;
  let timer = 0;
  let shown = "";

  function selected() {
    if (document.activeElement === box) return box.value.slice(box.selectionStart, box.selectionEnd);
    const selection = document.getSelection();
    return selection && byId("why").contains(selection.anchorNode) ? selection.toString() : "";
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
    const known = targets().flatMap((target) => [target.name, ...target.aliases]);
    if (!words || known.some((other) => sameName(other, words))) return hide();
    if (words === shown) return;
    const offered = targets()
      .slice(0, MOST_OFFERED)
      .map((target) =>
        make("button", { type: "button", onclick: then(() => alias(words, target.name)) }, "= ", name(target.name)),
      );
    const first = button(
      "Add “",
      then(() => add(words)),
      { class: "primary" },
    );
    first.append(name(words), "” as a target");
    fill(bar, first, offered.length > 0 && make("span", {}, "or another name:"), ...offered);
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
    if (event.key === "Escape" && !bar.hidden) {
      if (bar.contains(document.activeElement)) box.focus();
      hide();
    }
  });
  document.addEventListener("selectionchange", soon);
  box.addEventListener("select", soon);
  box.addEventListener("keyup", soon);
  bar.addEventListener("mousedown", (/** @type {Event} */ event) => event.preventDefault()); // keeps the selection
  bar.addEventListener("focusout", soon);
  addEventListener("scroll", hide, { passive: true });
}
