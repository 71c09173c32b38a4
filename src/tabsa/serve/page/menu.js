// A menu at a cell: what is right?

import { button, byId, fill, make } from "./dom.js";
import { look } from "./states.js";

/**
 * @typedef {{title: (string | Node)[], labels: string[], said: string, chosen: string | null, note: string,
 *            choose: (label: string) => void, more: {label: string, act: () => void}[]}} Offer
 *   `said`: the model's answer; `chosen`: what was said to be right; `note`: why nothing can be chosen, or empty
 */

const GAP = 6; // pixels between a cell and its menu
const EDGE = 8; // and between the menu and the window

export function attachMenu() {
  const title = make("p", { class: "menu-title", id: "menu-title" });
  const list = make("div", { role: "menu", "aria-labelledby": "menu-title", tabindex: -1 });
  const box = make("div", { class: "menu", id: "menu", hidden: true }, title, list);
  byId("main").append(box);
  /** @type {(() => HTMLElement | null) | null} finds the cell, which may be drawn again */
  let anchor = null;

  const items = () => /** @type {HTMLElement[]} */ ([...list.querySelectorAll("button")]);
  const cell = () => anchor?.() ?? null;

  /** @param {{refocus?: boolean}} [how] */
  function close({ refocus = true } = {}) {
    if (box.hidden) return;
    const from = cell();
    const inside = box.contains(document.activeElement);
    box.hidden = true;
    anchor = null;
    from?.setAttribute("aria-expanded", "false");
    if (refocus && inside) from?.focus({ preventScroll: true });
  }

  /** @param {() => HTMLElement | null} at @param {Offer} offer */
  function open(at, { title: words, labels, said, chosen, note, choose, more }) {
    close();
    /** @param {() => void} act */
    const then = (act) => () => {
      close();
      act();
    };
    const choices = labels.map((label) => {
      const { sign, word, tone } = look(label);
      const item = button(
        "",
        then(() => choose(label)),
        {
          role: "menuitemradio",
          "aria-checked": String(label === chosen),
          tabindex: -1,
          class: "menu-item",
          "data-label": label,
        },
      );
      item.append(
        make("span", { class: `tag ${tone}`, "aria-hidden": true }, sign),
        make("span", {}, word),
        label === said ? make("small", {}, "the model’s answer: right as it is") : "",
      );
      return item;
    });
    const others = more.map(({ label, act }) =>
      button(label, then(act), { role: "menuitem", tabindex: -1, class: "menu-item" }),
    );
    fill(title, ...words, note && make("span", { class: "note" }, note));
    fill(
      list,
      choices.length > 0 && make("div", { role: "group", "aria-label": "What is right" }, ...choices),
      choices.length > 0 && others.length > 0 && make("div", { role: "separator" }),
      ...others,
    );
    anchor = at;
    box.hidden = false;
    place();
    cell()?.setAttribute("aria-expanded", "true");
    const first = choices.find((item) => item.dataset.label === (chosen ?? said)) ?? items()[0] ?? list;
    first.focus({ preventScroll: true });
  }

  /** Beside its cell, within the window; gone where the cell is. */
  function place() {
    const at = cell()?.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    if (!at || at.bottom < 0 || at.top > clientHeight) return close({ refocus: false });
    const { offsetWidth: width, offsetHeight: height } = box;
    const below = at.bottom + GAP + height <= clientHeight || at.top < height + GAP;
    box.style.top = `${Math.max(EDGE, below ? at.bottom + GAP : at.top - GAP - height)}px`;
    box.style.left = `${Math.max(EDGE, Math.min(at.left, clientWidth - width - EDGE))}px`;
  }

  list.addEventListener("keydown", (event) => {
    const all = items();
    const now = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const place = /** @type {Record<string, number>} */ ({
      ArrowDown: (now + 1) % all.length,
      ArrowUp: (now + all.length - (now < 0 ? 0 : 1)) % all.length,
      Home: 0,
      End: all.length - 1,
    })[event.key];
    if (event.key === "Tab") return close(); // and the browser goes on from the cell
    if (event.key === "Escape") {
      close();
    } else if (place !== undefined) {
      all[place]?.focus({ preventScroll: true });
    } else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const begins = (/** @type {HTMLElement} */ item) =>
        (item.dataset.label ? look(item.dataset.label).word : (item.textContent ?? ""))
          .toLowerCase()
          .startsWith(event.key.toLowerCase());
      [...all.slice(now + 1), ...all.slice(0, now + 1)].find(begins)?.focus({ preventScroll: true });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    const on = /** @type {Node} */ (event.target);
    if (!box.contains(on) && !cell()?.contains(on)) close({ refocus: false });
  });
  const follow = () => box.hidden || place();
  addEventListener("scroll", follow, { passive: true, capture: true });
  addEventListener("resize", follow);

  return {
    open,
    close,
    /** Whether it is open at this cell. @param {HTMLElement} at */
    openAt: (at) => !box.hidden && cell() === at,
  };
}
