// The answers of a text to take away: as CSV, as JSON, or on the clipboard as a table.

import { button, byId, copy, fill, make, save } from "./dom.js";
import { certainty, look } from "./polarity.js";

/** @typedef {{text: string, model: string, opinions: import("./polarity.js").Opinion[],
 *             isRead: (target: string) => boolean}} Shown an opinion that is `corrected` is a person's */

const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/** @param {{shown: () => Shown | null, say: (words: string) => void}} what */
export function attachExport({ shown, say }) {
  const into = byId("export");
  const note = make("span", { id: "exported" });

  /** @param {string} words */
  function tell(words) {
    note.textContent = words;
    say(words);
  }

  const action = (/** @type {string} */ label, /** @type {() => void} */ act) =>
    button(label, act, { class: "quiet-button", "data-key": label });
  const saving = (name, type, write) => () => {
    save(name, [write(shown())], type);
    tell(`${name} saved.`);
  };
  const copying = async () => tell((await copy(table(shown()))) ? "Copied." : "This browser lets no page copy.");
  fill(
    into,
    note,
    action("Copy table", copying),
    action("CSV", saving("opinions.csv", "text/csv", csv)),
    action("JSON", saving("opinions.json", "application/json", json)),
  );

  return {
    /** The answers are others now, or there are none. */
    draw() {
      into.hidden = shown() === null;
      note.textContent = "";
    },
  };
}

/** Targets down, aspects across, as a spreadsheet takes it. @param {Shown} shown */
function table({ opinions, isRead }) {
  const aspects = [...new Set(opinions.map(({ aspect }) => aspect))];
  const targets = [...new Set(opinions.map(({ target }) => target))];
  const cell = (target, aspect) => {
    const one = opinions.find((opinion) => opinion.target === target && opinion.aspect === aspect);
    if (!isRead(target)) return "not read";
    if (one.corrected) return `${look(one.polarity).word} (corrected)`;
    return one.polarity === "none" ? "silent" : `${look(one.polarity).word} ${certainty(one).percent}`;
  };
  const rows = targets.map((target) => [target, ...aspects.map((aspect) => cell(target, aspect))]);
  const line = (row) => row.map((one) => asText(one).replace(/[\t\n]/g, " ")).join("\t");
  return [["", ...aspects], ...rows].map(line).join("\n");
}

/** @param {Shown} shown */
function csv({ opinions, isRead }) {
  const rows = opinions.map(({ target, aspect, polarity, probabilities, corrected }) =>
    isRead(target)
      ? [target, aspect, polarity, corrected ? "" : probabilities[polarity].toFixed(4)]
      : [target, aspect, "", ""],
  );
  const quoted = (cell) => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const all = [["target", "aspect", "polarity", "probability"], ...rows];
  return all.map((row) => `${row.map((cell) => quoted(asText(cell))).join(",")}\r\n`).join("");
}

/** @param {Shown} shown */
function json({ text, model, opinions, isRead }) {
  const answers = opinions.map((one) => ({
    ...{ ...one, target: one.target || null },
    ...(isRead(one.target) ? {} : { polarity: null, probabilities: null }),
  }));
  return `${JSON.stringify({ text, model, opinions: answers }, null, 2)}\n`;
}

/** Text that a spreadsheet would take for a formula has an apostrophe before it. @param {string} cell */
function asText(cell) {
  return FORMULA.test(cell) ? `'${cell}` : cell;
}
