// The answers of a text to take away: as CSV, as JSON, or on the clipboard as a table.

import { button, byId, fill, make } from "./dom.js";
import { copied } from "./link.js";
import { NOT_READ, percent, look } from "./states.js";

/**
 * @typedef {import("./states.js").Opinion} Opinion
 * @typedef {import("./evidence.js").Evidence} Evidence
 * @typedef {{text: string, model: string, opinions: Opinion[], isRead: (target: string) => boolean}} Shown
 * @typedef {Opinion & {read: boolean, carriedBy: {text: string, start: number, end: number, weight: number}[]}} Line
 */

const MOST_EXPLAINED = 40; // answers whose words are looked for
const AT_ONCE = 2;
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?(\d[\d,]*(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?%?$/;
const CSV_COLUMNS = ["target", "aspect", "polarity", "probability", "read", "carried_by"];

/**
 * @param {{shown: () => Shown | null, evidence: (cell: {target: string, aspect: string}) => Promise<Evidence>,
 *          say: (words: string) => void}} what
 */
export function attachExport({ shown, evidence, say }) {
  const into = byId("export");

  /** @param {string} words */
  function tell(words) {
    byId("exported").textContent = words;
    say(words);
  }

  /** @param {string} kind @param {(shown: Shown, lines: Line[]) => string} write @param {string} type */
  function saving(kind, write, type) {
    return async () => {
      const now = shown();
      if (!now) return;
      into.setAttribute("aria-busy", "true");
      tell("Looking for the words that carry the answers…");
      save(`opinions.${kind}`, write(now, await lines(now, evidence)), type);
      into.removeAttribute("aria-busy");
      tell(`opinions.${kind} saved.`);
    };
  }

  async function copy() {
    const now = shown();
    if (!now) return;
    const rows = tableOf(now).map((row) => row.map(asText));
    const plain = rows.map((row) => row.map((cell) => cell.replace(/[\t\n]/g, " ")).join("\t")).join("\n");
    tell((await toClipboard(rows, plain)) || copied(plain) ? "Copied." : "This browser does not let the page copy.");
  }

  return {
    /** There is something to take away, or nothing. */
    draw() {
      const any = shown() !== null;
      into.hidden = !any;
      if (!any || into.childElementCount) return;
      fill(
        into,
        make("span", { id: "exported", role: "status" }),
        button("Copy table", copy, { class: "quiet-button", "data-key": "copy" }),
        button("CSV", saving("csv", toCsv, "text/csv"), { class: "quiet-button", "data-key": "csv" }),
        button("JSON", saving("json", toJson, "application/json"), { class: "quiet-button", "data-key": "json" }),
      );
    },
    /** The answers are others now. */
    fresh() {
      const told = document.getElementById("exported");
      if (told) told.textContent = "";
    },
  };
}

/** @param {Shown} shown @param {(cell: Opinion) => Promise<Evidence>} evidence @returns {Promise<Line[]>} */
async function lines({ text, opinions, isRead }, evidence) {
  const characters = Array.from(text);
  /** @type {Map<Opinion, Line["carriedBy"]>} */
  const found = new Map();
  const waiting = opinions.filter(({ polarity, target }) => polarity !== "none" && isRead(target));
  waiting.length = Math.min(waiting.length, MOST_EXPLAINED);
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        const { phrases } = await evidence(next);
        const words = phrases.map((one) => ({ text: characters.slice(one.start, one.end).join(""), ...one }));
        found.set(next, words);
      } catch {
        // The answers are worth having without it.
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return opinions.map((one) => ({ ...one, read: isRead(one.target), carriedBy: found.get(one) ?? [] }));
}

/** @param {Shown} _ @param {Line[]} lines */
function toCsv(_, lines) {
  const rows = lines.map(({ target, aspect, polarity, probabilities, read, carriedBy }) => [
    target,
    aspect,
    read ? polarity : "",
    read ? probabilities[polarity].toFixed(4) : "",
    read ? "yes" : "no",
    carriedBy.map(({ text }) => text).join("; "),
  ]);
  return [CSV_COLUMNS, ...rows].map((row) => `${row.map(quotedCell).join(",")}\r\n`).join("");
}

/** @param {string} cell */
function quotedCell(cell) {
  const text = asText(cell);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Text that a spreadsheet would take for a formula has an apostrophe before it, as in `tabsa score --escape-formulas`.
 * @param {string} cell
 */
function asText(cell) {
  return FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
}

/** @param {Shown} shown @param {Line[]} lines */
function toJson({ text, model }, lines) {
  const opinions = lines.map(({ target, aspect, polarity, probabilities, read, carriedBy }) => ({
    target: target || null,
    aspect,
    polarity: read ? polarity : null,
    probabilities: read ? probabilities : null,
    read,
    carried_by: carriedBy,
  }));
  return `${JSON.stringify({ text, model, opinions }, null, 2)}\n`;
}

/** Targets down, aspects across. @param {Shown} shown */
function tableOf({ opinions, isRead }) {
  const aspects = [...new Set(opinions.map(({ aspect }) => aspect))];
  const targets = [...new Set(opinions.map(({ target }) => target))];
  const told = (/** @type {Opinion | undefined} */ one) => {
    if (!one || !isRead(one.target)) return one ? NOT_READ.word : "";
    const share = percent(one.probabilities[one.polarity]);
    return one.polarity === "none" ? look("none").word : `${one.polarity} ${share}%`;
  };
  const rows = targets.map((target) => [
    target,
    ...aspects.map((aspect) => told(opinions.find((one) => one.target === target && one.aspect === aspect))),
  ]);
  return [["", ...aspects], ...rows];
}

/** As a table for documents, and as text. @param {string[][]} rows @param {string} plain @returns {Promise<boolean>} */
async function toClipboard(rows, plain) {
  const table = make("table", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)))));
  const as = (/** @type {string} */ content, /** @type {string} */ type) => new Blob([content], { type });
  try {
    const item = { "text/html": as(table.outerHTML, "text/html"), "text/plain": as(plain, "text/plain") };
    await navigator.clipboard.write([new ClipboardItem(item)]);
    return true;
  } catch {
    return false; // not allowed, or not served by https
  }
}

/** @param {string} name @param {string} content @param {string} type */
function save(name, content, type) {
  const held = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: held, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(held), 60_000);
}
