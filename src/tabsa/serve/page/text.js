// Places in a text, and names as they are typed.

/**
 * @typedef {[start: number, end: number]} Span
 * @typedef {{name: string, aliases: string[]}} Target
 */

const LONGEST_NAME = 100;

/**
 * The service counts characters (code points), a string here counts UTF-16 units: an emoji is one and two.
 * @param {string} text
 * @returns {(offset: number) => number} from code points to units
 */
export function toUnits(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (offset) => Math.min(offset, text.length);
  const starts = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (offset) => starts[Math.min(offset, starts.length - 1)];
}

/** Without null and halves of characters, which the service does not take; every offset stays. @param {string} text */
export function wellFormed(text) {
  return text.replace(/\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

/**
 * Spans of a text carried over to an edited one: those behind the edit move, those it touches go.
 * @template {{span: Span}} T
 * @param {T[]} marks
 * @param {string} before
 * @param {string} after
 * @returns {T[]}
 */
export function moved(marks, before, after) {
  const shorter = Math.min(before.length, after.length);
  let first = 0;
  while (first < shorter && before[first] === after[first]) first++;
  let last = 0;
  while (last < shorter - first && before.at(-1 - last) === after.at(-1 - last)) last++;
  const end = before.length - last;
  const by = after.length - before.length;
  return marks.flatMap((mark) => {
    const [start, stop] = mark.span;
    if (stop <= first) return [mark];
    return start >= end ? [{ ...mark, span: [start + by, stop + by] }] : [];
  });
}

/**
 * A text cut wherever one of several layers of spans begins or ends, with the place in each layer of what lies there.
 * @param {number} length
 * @param {Span[][]} layers each in the order of the text, without overlaps
 * @returns {{span: Span, at: (number | null)[]}[]}
 */
export function pieces(length, layers) {
  const cuts = new Set([0, length]);
  for (const [start, end] of layers.flat()) cuts.add(Math.min(start, length)).add(Math.min(end, length));
  const places = [...cuts].sort((a, b) => a - b);
  const reached = layers.map(() => 0);
  return places.slice(0, -1).map((start, place) => {
    const at = layers.map((spans, layer) => {
      while (reached[layer] < spans.length && spans[reached[layer]][1] <= start) reached[layer]++;
      const next = spans[reached[layer]];
      return next && next[0] <= start ? reached[layer] : null;
    });
    return { span: [start, places[place + 1]], at };
  });
}

/** A selection as a name: one line, nothing but the name; empty if it cannot be one. @param {string} selected */
export function asName(selected) {
  const name = selected.replace(/\s+/g, " ").replace(/^[\s"'“”‘’(),.;:!?]+|[\s"'“”‘’(),;:!?]+$/gu, "");
  return name.length <= LONGEST_NAME && /[\p{L}\p{N}]/u.test(name) ? name : "";
}

/** A target as it is shown; what the text is about and does not name is "" here. @param {string} target */
export function shownTarget(target) {
  return target || "what it is about";
}

const folded = (/** @type {string} */ name) => name.normalize("NFKC").toLowerCase().trim();

/** @param {string} a @param {string} b */
export function sameName(a, b) {
  return folded(a) === folded(b);
}

/** Whether two lists hold the same, in the same order. @param {string[]} a @param {string[]} b */
export function same(a, b) {
  return a.length === b.length && a.every((one, place) => one === b[place]);
}

/**
 * Names as typed: `Camden; Brixton`, or one with other names for it, `Stoke Newington=Stokey,N16`; as on the command
 * line, `\=` and `\,` stand for themselves.
 * @param {string} typed
 * @returns {Target[]}
 */
export function readTargets(typed) {
  return split(typed, "\n")
    .flatMap((line) => {
      const [first, ...rest] = split(line, "=");
      if (rest.length) return [{ name: plain(first), aliases: split(rest.join("="), ",").map(plain).filter(Boolean) }];
      return split(line, ",")
        .flatMap((part) => split(part, ";"))
        .map((part) => ({ name: plain(part), aliases: [] }));
    })
    .filter((target) => target.name);
}

/** The same the other way. @param {Target} target */
export function writeTarget({ name, aliases }) {
  return [escaped(name), aliases.map(escaped).join(",")].filter(Boolean).join("=");
}

/**
 * Aspects as typed: words with commas, semicolons or lines between them; `\,` and `\;` stand for themselves.
 * @param {string} typed
 */
export function readAspects(typed) {
  return ["\n", ",", ";"]
    .reduce((parts, separator) => parts.flatMap((part) => split(part, separator)), [typed])
    .map(plain)
    .filter(Boolean);
}

/** The same the other way. @param {string[]} aspects */
export function writeAspects(aspects) {
  return aspects.map(escaped).join(",");
}

/** Names in a cell of a table: one, several with `;` between them, or a JSON list. @param {string} cell */
export function namesIn(cell) {
  let names = cell.split(";");
  try {
    const listed = JSON.parse(cell);
    if (Array.isArray(listed)) names = listed.map(String);
  } catch {
    // It is no list.
  }
  return names.map((name) => name.trim()).filter(Boolean);
}

/** @param {string} part */
export function escaped(part) {
  return part.replace(/[\\=,;]/g, "\\$&");
}

/** Parts of a text between unescaped separators, escapes left in. @param {string} text @param {string} separator */
function split(text, separator) {
  const parts = [""];
  for (const piece of text.match(/\\[^]|[^]/g) ?? []) {
    if (piece === separator) parts.push("");
    else parts[parts.length - 1] += piece;
  }
  return parts;
}

/** @param {string} part */
function plain(part) {
  return part
    .replace(/\\([\\=,;])/g, "$1")
    .replace(/\s+/g, " ")
    .trim();
}
