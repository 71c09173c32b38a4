// The opinions as a table: targets by aspects, whichever way round fits.

import { make, name, redraw, unseen } from "./dom.js";
import { fit } from "./fitting.js";
import { NOT_READ, legend, look, told } from "./states.js";
import { shownTarget } from "./text.js";

/**
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./states.js").Opinion} Opinion
 * @typedef {{opinions: Opinion[], labels: string[], mentioned: Set<string>, implied: boolean,
 *            isRead: (target: string) => boolean, mistake: (opinion: Opinion) => string | null}} Told
 *   `implied`: a target that is not mentioned is what the text is about; `mistake`: what is right where an example's
 *   answer is known to be wrong
 */

const CAPTION =
  "Opinions by target and aspect. Arrow keys move between the cells; Enter shows why, and a second time asks what is right.";
const LONG_WORD = 16; // letters; a longer one may be broken

/**
 * @param {{into: HTMLElement, choose: (cell: Cell) => void}} what
 */
export function attachGrid({ into, choose }) {
  /** @type {Told | null} */
  let shown = null;
  /** @type {HTMLButtonElement[]} */
  let buttons = [];
  /** @type {Cell | null} */
  let chosen = null;
  /** @type {(cell: Cell) => string | null} */
  let right = () => null;
  let way = "";

  const at = (/** @type {Cell} */ cell) => buttons.find((one) => one.dataset.key === key(cell)) ?? null;

  function draw() {
    if (!shown) return;
    const { opinions, labels, isRead, mistake } = shown;
    const targets = [...new Set(opinions.map(({ target }) => target))];
    const aspects = [...new Set(opinions.map(({ aspect }) => aspect))];
    const fitting = fit(targets.map(shownTarget), aspects, roomOf(into));
    way = wayOf(fitting);
    const frame = make("div", { class: "grid-frame" }, drawTable(shown, targets, aspects, fitting, choose));
    const signs = { unread: targets.some((target) => !isRead(target)), wrong: opinions.some(mistake) };
    redraw(into, frame, legend(labels, signs));
    buttons = [.../** @type {NodeListOf<HTMLButtonElement>} */ (into.querySelectorAll(".grid button"))];
    only(buttons, buttons[0]);
    mark();
    correct();
  }

  function mark() {
    const current = chosen && at(chosen);
    for (const one of buttons) {
      const now = one === current;
      if (now) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
      if (now) one.setAttribute("aria-haspopup", "menu");
      else for (const name of ["aria-haspopup", "aria-expanded"]) one.removeAttribute(name);
    }
    if (current) only(buttons, current);
  }

  function correct() {
    for (const opinion of shown?.opinions ?? []) {
      const cell = at(opinion);
      if (cell) badge(cell, opinion.polarity, right(opinion));
    }
  }

  new ResizeObserver(() => {
    if (!shown) return;
    const { opinions } = shown;
    const targets = [...new Set(opinions.map(({ target }) => shownTarget(target)))];
    const aspects = [...new Set(opinions.map(({ aspect }) => aspect))];
    if (wayOf(fit(targets, aspects, roomOf(into))) !== way) draw();
  }).observe(into);

  return {
    at,
    /** @param {Told} now */
    show(now) {
      shown = now;
      draw();
    },
    /** Something else is shown in its place. */
    clear() {
      [shown, buttons] = [null, []];
    },
    shows: () => shown !== null,
    /** Marks the cells with what people said is right. @param {(cell: Cell) => string | null} how */
    correct(how) {
      right = how;
      correct();
    },
    /** @param {Cell | null} cell */
    mark(cell) {
      chosen = cell;
      mark();
    },
  };
}

/** @param {HTMLElement} into */
function roomOf(into) {
  return into.clientWidth;
}

/** @param {import("./fitting.js").Fit} fitting */
function wayOf({ targetsDown, size }) {
  return `${targetsDown} ${size}`;
}

/**
 * @param {Told} shown
 * @param {string[]} targets
 * @param {string[]} aspects
 * @param {import("./fitting.js").Fit} fitting
 * @param {(cell: Cell) => void} choose
 */
function drawTable({ opinions, mentioned, implied, isRead, mistake }, targets, aspects, fitting, choose) {
  const { targetsDown, size, first, width, fits } = fitting;
  const loud = new Set(opinions.filter(({ polarity }) => polarity !== "none").map(({ aspect }) => aspect));
  const cells = new Map(
    opinions.map((opinion) => [key(opinion), drawCell(opinion, isRead(opinion.target), mistake(opinion), choose)]),
  );
  /** @param {string} target @param {string} scope */
  const targetHead = (target, scope) => {
    const absent = target && !mentioned.has(target) && (implied ? "not named, but meant" : "not in the text");
    const long = longWords(shownTarget(target)) ? " long" : "";
    return head(`target${long}`, scope, shownTarget(target), absent && make("small", {}, absent));
  };
  /** @param {string} aspect @param {string} scope */
  const aspectHead = (aspect, scope) => {
    const looks = ["aspect-name", !loud.has(aspect) && "quiet", longWords(aspect) && "long"];
    return head(looks.filter(Boolean).join(" "), scope, aspect);
  };
  const [down, across] = targetsDown ? [targets, aspects] : [aspects, targets];
  const [rowHead, columnHead] = targetsDown ? [targetHead, aspectHead] : [aspectHead, targetHead];
  const rows = down.map((row) => {
    const pairs = across.map((column) =>
      targetsDown ? { target: row, aspect: column } : { target: column, aspect: row },
    );
    return make("tr", {}, rowHead(row, "row"), ...pairs.map((pair) => cells.get(key(pair))));
  });
  const heads = across.map((column) => columnHead(column, "col"));
  const corner = make("td", { class: "corner" });
  corner.style.width = `${first}px`;
  const table = make(
    "table",
    { class: "grid", "data-size": size, onkeydown: move },
    make("caption", {}, unseen(CAPTION)),
    make("thead", {}, make("tr", {}, corner, ...heads)),
    make("tbody", {}, ...rows),
  );
  if (!fits) table.style.minWidth = `${width}px`;
  return table;
}

/** @param {string} looks @param {string} scope @param {string} words @param {import("./dom.js").Child[]} more */
function head(looks, scope, words, ...more) {
  return make("th", { scope, class: looks, title: words }, make("span", {}, name(words), ...more));
}

/** @param {string} words */
function longWords(words) {
  return words.split(/[\s-]/).some((word) => word.length > LONG_WORD);
}

/**
 * @param {Opinion} opinion
 * @param {boolean} read
 * @param {string | null} right where the answer is known to be wrong
 * @param {(cell: Cell) => void} choose
 */
function drawCell(opinion, read, right, choose) {
  const { target, aspect } = opinion;
  const { sign, word, tone, share, percent } = read ? told(opinion) : { ...NOT_READ, share: 0, percent: 0 };
  const bar = make("span", { class: "bar", "aria-hidden": true });
  bar.style.setProperty("--share", String(share));
  const content = make(
    "button",
    { type: "button", class: `cell ${tone}`, "data-key": key(opinion), onclick: () => choose({ target, aspect }) },
    unseen(`${shownTarget(target)}, ${aspect}: `),
    make("span", { class: "sign", "aria-hidden": true }, sign),
    " ",
    make("span", { class: "word" }, word),
    " ",
    read && make("span", { class: "percent" }, `${percent}%`),
    read && bar,
    right !== null && unseen(`, wrong: a person would say ${look(right).word}`),
  );
  const cross = right !== null && make("span", { class: "known-wrong", "aria-hidden": true }, "✗");
  return make("td", {}, content, cross);
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
