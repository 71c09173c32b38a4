// The opinions as a table: targets by aspects, whichever way round fits.

import { make, name, redraw, unseen } from "./dom.js";
import { shownTarget } from "./text.js";

/**
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {{target: string, aspect: string, polarity: string, probabilities: Record<string, number>}} Opinion
 */

const MOST_ACROSS = 3; // targets side by side; more of them go down the page
const LONG_WORD = 16; // letters; a longer one may be broken
const CAPTION =
  "Opinions by target and aspect. Arrow keys move between the cells; Enter shows why, and asks what is right.";
/** @type {Record<string, string>} */
const SIGNS = { positive: "▲", negative: "▼", neutral: "○", mixed: "◆", none: "·" };

/** A polarity as a sign, as a word, and as the name of its colours. @param {string} polarity */
export function look(polarity) {
  const known = Object.hasOwn(SIGNS, polarity); // a model may have labels of its own
  const word = polarity === "none" ? "silent" : polarity;
  return { sign: known ? SIGNS[polarity] : "●", word, tone: known ? polarity : "other" };
}

/** What is said of an opinion. @param {Opinion} opinion */
export function told({ polarity, probabilities }) {
  const share = probabilities[polarity];
  return { ...look(polarity), share, percent: percent(share) };
}

/** A probability of 0.996 is not certainty, and is not shown as if it were. @param {number} probability */
export function percent(probability) {
  return probability < 1 ? Math.min(99, Math.round(probability * 100)) : 100;
}

/**
 * @param {{into: HTMLElement, opinions: Opinion[], mentioned: Set<string>, implied: boolean,
 *          choose: (cell: Cell) => void}} what `implied`: a target that is not mentioned is what the text is about
 * @returns {{mark: (cell: Cell | null) => void, at: (cell: Cell) => HTMLElement | null,
 *            correct: (right: (cell: Cell) => string | null) => void}}
 */
export function drawGrid({ into, opinions, mentioned, implied, choose }) {
  redraw(into, make("div", { class: "grid-frame" }, drawTable(opinions, mentioned, implied, choose)));
  const buttons = [...into.querySelectorAll("button")];
  only(buttons, buttons[0]);
  const at = (/** @type {Cell} */ cell) => buttons.find((one) => one.dataset.key === key(cell)) ?? null;
  return {
    at,
    correct(right) {
      for (const opinion of opinions) {
        const cell = at(opinion);
        if (cell) badge(cell, opinion.polarity, right(opinion));
      }
    },
    mark(chosen) {
      const current = chosen && at(chosen);
      for (const one of buttons) one.removeAttribute("aria-current");
      current?.setAttribute("aria-current", "true");
      if (current) only(buttons, current);
    },
  };
}

/**
 * @param {Opinion[]} opinions
 * @param {Set<string>} mentioned
 * @param {boolean} implied
 * @param {(cell: Cell) => void} choose
 */
function drawTable(opinions, mentioned, implied, choose) {
  const targets = [...new Set(opinions.map((opinion) => opinion.target))];
  const aspects = [...new Set(opinions.map((opinion) => opinion.aspect))];
  const loud = new Set(opinions.filter(({ polarity }) => polarity !== "none").map(({ aspect }) => aspect));
  const cells = new Map(opinions.map((opinion) => [key(opinion), drawCell(opinion, choose)]));
  /** @param {string} target @param {string} scope */
  const targetHead = (target, scope) => {
    const absent = target && !mentioned.has(target) && (implied ? "not named, but meant" : "not in the text");
    return make("th", { scope, class: "target" }, name(shownTarget(target)), absent && make("small", {}, absent));
  };
  /** @param {string} aspect @param {string} scope */
  const aspectHead = (aspect, scope) => {
    const long = aspect.split(/[\s-]/).some((word) => word.length > LONG_WORD);
    const looks = ["aspect-name", !loud.has(aspect) && "quiet", long && "long"];
    return make("th", { scope, class: looks.filter(Boolean).join(" ") }, name(aspect));
  };

  const many = targets.length > MOST_ACROSS;
  const [down, across] = many ? [targets, aspects] : [aspects, targets];
  const [rowHead, columnHead] = many ? [targetHead, aspectHead] : [aspectHead, targetHead];
  const rows = down.map((row) => {
    const pairs = across.map((column) => (many ? { target: row, aspect: column } : { target: column, aspect: row }));
    return make("tr", {}, rowHead(row, "row"), ...pairs.map((pair) => cells.get(key(pair))));
  });
  const heads = across.map((column) => columnHead(column, "col"));
  const table = make(
    "table",
    { class: "grid", "data-across": many ? "many" : across.length, onkeydown: move },
    make("caption", {}, unseen(CAPTION)),
    make("thead", {}, make("tr", {}, make("td", { class: "corner" }), ...heads)),
    make("tbody", {}, ...rows),
  );
  table.style.setProperty("--columns", String(across.length));
  return table;
}

/** @param {Opinion} opinion @param {(cell: Cell) => void} choose */
function drawCell(opinion, choose) {
  const { target, aspect } = opinion;
  const { sign, word, tone, share, percent } = told(opinion);
  const bar = make("span", { class: "bar", "aria-hidden": true });
  bar.style.setProperty("--share", String(share));
  const content = make(
    "button",
    {
      type: "button",
      class: `cell ${tone}`,
      "data-key": key(opinion),
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      onclick: () => choose({ target, aspect }),
    },
    unseen(`${shownTarget(target)}, ${aspect}: `),
    make("span", { class: "sign", "aria-hidden": true }, sign),
    " ",
    make("span", { class: "word" }, word),
    " ",
    make("span", { class: "percent" }, `${percent}%`),
    bar,
  );
  return make("td", {}, content);
}

/**
 * Marks a cell with what is right, or takes the mark away.
 * @param {HTMLElement} cell
 * @param {string} said
 * @param {string | null} right
 */
function badge(cell, said, right) {
  const around = /** @type {HTMLElement} */ (cell.parentElement);
  for (const old of around.querySelectorAll(".fix, .fixed")) old.remove();
  if (right === null) return;
  const { sign, word, tone } = look(right);
  const confirmed = right === said;
  cell.append(make("span", { class: "unseen fixed" }, confirmed ? ", right as it is" : `, corrected to ${word}`));
  around.append(
    make("span", { class: `fix ${confirmed ? "confirmed" : tone}`, "aria-hidden": true }, confirmed ? "✓" : sign),
  );
}

/**
 * Arrow keys, Home and End go between the buttons of a table, of which one takes part in tabbing.
 * @param {KeyboardEvent} event
 */
function move(event) {
  const from = /** @type {HTMLElement} */ (event.target).closest("td");
  const row = from?.parentElement;
  const table = from?.closest("table");
  if (!from || !row || !table || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = [...table.querySelectorAll("tbody tr")];
  const [y, x] = [rows.indexOf(row), [...row.children].indexOf(from)];
  const across = getComputedStyle(table).direction === "rtl" ? -1 : 1;
  const place = /** @type {Record<string, [number, number]>} */ ({
    ArrowUp: [y - 1, x],
    ArrowDown: [y + 1, x],
    ArrowLeft: [y, x - across],
    ArrowRight: [y, x + across],
    Home: [y, 1],
    End: [y, row.children.length - 1],
  })[event.key];
  const next = place && rows[place[0]]?.children[place[1]]?.querySelector("button");
  if (!place) return;
  event.preventDefault();
  if (!next) return;
  only([...table.querySelectorAll("button")], next);
  next.focus();
}

/** @param {HTMLButtonElement[]} buttons @param {HTMLButtonElement} one */
function only(buttons, one) {
  for (const other of buttons) other.tabIndex = other === one ? 0 : -1;
}

/** @param {Cell} cell */
function key({ target, aspect }) {
  return JSON.stringify([target, aspect]);
}
