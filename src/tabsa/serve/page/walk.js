// The texts of a file, one after the other: to see what the model says of each, and to say what is right.

import { button, byId, make, redraw } from "./dom.js";

/**
 * @typedef {import("./text.js").Target} Target
 * @typedef {{text: string, targets: Target[], aspects: string[] | null}} Item
 */

/** @param {{show: (item: Item) => void, say: (words: string) => void}} what */
export function attachWalk({ show, say }) {
  const into = byId("walk");
  /** @type {{items: Item[], file: string} | null} */
  let way = null;
  let place = 0;

  /** @param {number} to */
  function go(to) {
    if (!way) return;
    place = Math.max(0, Math.min(to, way.items.length - 1));
    draw();
    show(way.items[place]);
    say(`Text ${place + 1} of ${way.items.length}.`);
  }

  function end() {
    way = null;
    draw();
    byId("text").focus();
  }

  function draw() {
    into.hidden = !way;
    if (!way) return redraw(into);
    const { items, file } = way;
    /** @param {string} label @param {number} to */
    const step = (label, to) =>
      button(label, () => go(to), {
        class: "quiet-button",
        "data-key": label,
        "aria-disabled": to < 0 || to >= items.length,
      });
    redraw(
      into,
      step("Previous", place - 1),
      make("span", { id: "walk-told" }, `${place + 1} of ${items.length} in ${file}`),
      step("Next", place + 1),
      button("×", end, { class: "quiet-button", "data-key": "end", "aria-label": "Leave the file" }),
    );
  }

  return {
    /** @param {Item[]} items @param {string} file @param {string} [first] the text to begin with */
    begin(items, file, first) {
      way = { items, file };
      go(items.findIndex(({ text }) => text === first));
    },
  };
}

/**
 * The texts of a table, each once, with who and what its rows ask about.
 * @param {Record<string, string>[]} rows
 * @param {{text: string, target: string}} columns `target` may be empty: then `shared` are asked about
 * @param {Target[]} shared
 * @returns {Item[]}
 */
export function itemsOf(rows, { text, target }, shared) {
  /** @type {Map<string, {targets: Map<string, string[]>, aspects: Set<string>}>} */
  const found = new Map();
  for (const row of rows) {
    if (!row[text]?.trim()) continue;
    const item = found.get(row[text]) ?? { targets: new Map(), aspects: new Set() };
    found.set(row[text], item);
    const names = target ? namesIn(row[target] ?? "") : [];
    const aliases = names.length === 1 ? namesIn(row.aliases ?? "") : [];
    for (const name of names) item.targets.set(name, aliases);
    if (row.aspect?.trim()) item.aspects.add(row.aspect.trim());
  }
  return [...found].map(([words, { targets, aspects }]) => ({
    text: words,
    targets: target ? [...targets].map(([name, aliases]) => ({ name, aliases })) : shared,
    aspects: aspects.size ? [...aspects] : null,
  }));
}

/** Names in a cell of a table: one, several with `;` between them, or a JSON list. @param {string} cell */
function namesIn(cell) {
  let names = cell.split(";");
  try {
    const listed = JSON.parse(cell);
    if (Array.isArray(listed)) names = listed.map(String);
  } catch {
    // It is no list.
  }
  return names.map((name) => name.trim()).filter(Boolean);
}
