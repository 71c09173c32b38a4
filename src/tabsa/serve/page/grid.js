// The opinions as a table of targets by aspects: the longer list goes down, and what a text is silent on is folded.

import { bdi, button, fill, make, unseen } from "./dom.js";
import { certainty, legend, look } from "./polarity.js";
import { sameCell } from "./state.js";
import { shownTarget } from "./text.js";

/**
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./polarity.js").Opinion} Opinion
 * @typedef {{opinions: Opinion[], mentioned: Set<string>, implied: boolean}} Shown
 *   `implied`: a target that is not mentioned is what the text is about
 */

const CAPTION =
  "Opinions by target and aspect. Arrow keys move between cells; Enter shows why, a second time asks what is right.";
const FEW_SILENT = 3; // aspects that may be silent without being folded
const FEW_ABSENT = 1; // and targets that may be absent
const MANY = 3; // columns that have room for their headings on a phone
const CROWDED = 7; // and in a wide window

/**
 * @param {{into: HTMLElement, choose: (cell: Cell) => void, correctionOf: (cell: Cell) => string | null}} what
 *   `correctionOf`: what a person said is right
 */
export function attachGrid({ into, choose, correctionOf }) {
  /** @type {Shown | null} */
  let shown = null;
  /** @type {Cell | null} */
  let chosen = null;
  let unfolded = false;

  const buttons = () => [...into.querySelectorAll(".grid button")];
  const at = (/** @type {Cell} */ cell) => buttons().find((one) => one.dataset.key === key(cell)) ?? null;

  function draw() {
    if (!shown) return;
    const { opinions } = shown;
    const targets = unique(opinions.map(({ target }) => target));
    const aspects = unique(opinions.map(({ aspect }) => aspect));
    const read = opinions.filter(({ target }) => isRead(target));
    const speaks = (one) => one.polarity !== "none" || correctionOf(one) || sameCell(one, chosen);
    const loud = new Set(read.filter(speaks).map(({ aspect }) => aspect));
    const silent = foldable(aspects, (aspect) => !loud.has(aspect), FEW_SILENT);
    const absent = foldable(targets, (target) => !isRead(target) && target !== chosen?.target, FEW_ABSENT);
    const shownOf = (all, folded) => (unfolded ? all : all.filter((one) => !folded.includes(one)));
    const [names, questions] = [shownOf(targets, absent), shownOf(aspects, silent)];
    fill(
      into,
      make("div.grid-frame", table(names, questions, targets.length > aspects.length)),
      silent.length + absent.length > 0 && foldedNote(silent, absent),
      legend(read.map((one) => ({ ...one, right: correctionOf(one) })), !names.every(isRead)),
    );
    only(buttons(), (chosen && at(chosen)) || buttons()[0]);
  }

  /** @param {string[]} silent aspects @param {string[]} absent targets */
  function foldedNote(silent, absent) {
    const toggle = () => {
      unfolded = !unfolded;
      draw();
    };
    const looks = { class: "link-button", "data-key": "fold", "aria-expanded": String(unfolded) };
    return make(
      "p.folded",
      silent.length > 0 && `Silent on ${silent.join(", ")}. `,
      absent.length > 0 && `Not in the text: ${absent.join(", ")}. `,
      button(unfolded ? "Hide them" : "Show them", toggle, looks),
    );
  }

  /** @param {string[]} targets @param {string[]} aspects @param {boolean} targetsDown */
  function table(targets, aspects, targetsDown) {
    const [down, across] = targetsDown ? [targets, aspects] : [aspects, targets];
    const [rowHead, columnHead] = targetsDown ? [targetHead, aspectHead] : [aspectHead, targetHead];
    const rows = down.map((row) => {
      const cells = across.map((column) =>
        cellOf(targetsDown ? { target: row, aspect: column } : { target: column, aspect: row }),
      );
      return make("tr", rowHead(row, "row"), ...cells);
    });
    const grid = make(
      "table.grid",
      { onkeydown: move },
      make("caption", unseen(CAPTION)),
      make("thead", make("tr", make("td"), ...across.map((column) => columnHead(column, "col")))),
      make("tbody", ...rows),
    );
    grid.style.setProperty("--columns", String(across.length));
    grid.classList.toggle("many", across.length > MANY);
    grid.classList.toggle("crowded", across.length > CROWDED);
    return grid;
  }

  const isRead = (/** @type {string} */ target) => !target || shown?.implied || shown?.mentioned.has(target);

  /** @param {string} target @param {string} scope */
  function targetHead(target, scope) {
    const named = !target || shown?.mentioned.has(target);
    const absent = !named && make("small", isRead(target) ? "not named, but meant" : "not in the text");
    return make("th", { scope, class: "target" }, bdi(shownTarget(target)), absent);
  }

  /** @param {string} aspect @param {string} scope */
  function aspectHead(aspect, scope) {
    return make("th", { scope, class: "aspect" }, bdi(aspect));
  }

  /** What a cell says: its sign, word and share, its class, and more for a screen reader. @param {Opinion} opinion */
  function content(opinion) {
    if (!isRead(opinion.target)) return { parts: ["", "not read", ""], tone: "not-read", more: "" };
    const right = correctionOf(opinion);
    const { percent, unsure } = certainty(opinion);
    const { sign, word, tone } = look(right ?? opinion.polarity);
    if (right === null) return { parts: [sign, word, percent], tone: unsure ? `${tone} unsure` : tone, more: "" };
    if (right === opinion.polarity)
      return { parts: [sign, word, `✓ ${percent}`], tone: `${tone} corrected`, more: ", right as it is" };
    const more = `, your correction of ${look(opinion.polarity).word} ${percent}`;
    return { parts: [sign, word, "✎"], tone: `${tone} corrected`, more };
  }

  /** @param {Cell} cell */
  function cellOf(cell) {
    const opinion = shown?.opinions.find((one) => sameCell(one, cell));
    if (!opinion) return make("td");
    const { parts, tone, more } = content(opinion);
    const current = sameCell(cell, chosen);
    const attributes = {
      ...{ class: `cell ${tone}`, "data-key": key(cell), "aria-current": current, "aria-haspopup": current && "menu" },
      "aria-label": `${shownTarget(cell.target)}, ${cell.aspect}: ${parts.slice(1).join(" ")}${more}`,
    };
    const labels = ["sign", "word", "percent"].map((part, place) => make(`span.${part}`, parts[place]));
    return make("td", button(labels, () => choose(cell), attributes));
  }

  return {
    at,
    draw,
    shows: () => shown !== null,
    /** @param {Shown | null} now null: something else is shown in its place */
    show(now) {
      shown = now;
      draw();
    },
    /** @param {Cell | null} cell */
    mark(cell) {
      if (sameCell(cell, chosen)) return;
      chosen = cell;
      draw();
    },
  };
}

/** Arrow keys, Home and End go between the buttons of a table, of which one takes part in tabbing.
 * @param {KeyboardEvent} event */
function move(event) {
  const from = event.target.closest("td");
  const table = from?.closest("table");
  if (!table || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = [...table.querySelectorAll("tbody tr")];
  const [y, x] = [rows.indexOf(from.parentElement), from.cellIndex];
  const place = {
    ArrowUp: [y - 1, x],
    ArrowDown: [y + 1, x],
    ArrowLeft: [y, x - 1],
    ArrowRight: [y, x + 1],
    Home: [y, 1],
    End: [y, rows[y].children.length - 1],
  }[event.key];
  if (!place) return;
  event.preventDefault();
  const next = rows[place[0]]?.children[place[1]]?.querySelector("button");
  if (!next) return;
  only([...table.querySelectorAll("button")], next);
  next.focus();
}

/** @param {HTMLButtonElement[]} buttons @param {HTMLButtonElement} one */
function only(buttons, one) {
  for (const other of buttons) other.tabIndex = other === one ? 0 : -1;
}

/** Those of some names that may be folded, as long as others are left; none where they are few.
 * @param {string[]} names @param {(name: string) => boolean} fits @param {number} few */
function foldable(names, fits, few) {
  const found = names.filter(fits);
  return found.length > few && found.length < names.length ? found : [];
}

/** @param {string[]} values */
const unique = (values) => [...new Set(values)];

/** @param {Cell} cell */
const key = ({ target, aspect }) => JSON.stringify([target, aspect]);
