// Which way round a table of targets by aspects fits into the page, and how much a cell can say there.

/**
 * @typedef {"wide" | "narrow" | "tight"} Size a cell says its sign, word and share; sign and share; or its sign
 * @typedef {{targetsDown: boolean, size: Size, first: number, width: number, fits: boolean}} Fit
 *   `first` and `width`: of the first column and of the table, in pixels
 */

const CELLS = { wide: 128, narrow: 64, tight: 36 }; // pixels: the least that a cell needs
const LETTERS = { target: 8.9, aspect: 7.6 }; // pixels a letter of a heading
const SMALLER = { wide: 1, narrow: 0.88, tight: 0.88 }; // and how much smaller they are written
const LEAST_OF_HEAD = 70;
const MOST_OF_HEAD = 150; // pixels that a heading takes for a long word
const GAP = 3; // pixels between cells

/**
 * @param {string[]} targets
 * @param {string[]} aspects
 * @param {number} room pixels
 * @returns {Fit}
 */
export function fit(targets, aspects, room) {
  const ways = [false, true].map((targetsDown) => ({
    targetsDown,
    down: targetsDown ? targets : aspects,
    across: targetsDown ? aspects : targets,
  }));
  /** @type {Fit[]} */
  const tried = /** @type {Size[]} */ (["wide", "narrow", "tight"]).flatMap((size) =>
    ways.map(({ targetsDown, down, across }) => {
      const first = Math.max(LEAST_OF_HEAD, longest(down, targetsDown ? "target" : "aspect", size));
      const words = size === "tight" ? 0 : longest(across, targetsDown ? "aspect" : "target", size); // else upright
      const width = first + across.length * (Math.max(CELLS[size], words) + GAP) + 2 * GAP;
      return { targetsDown, size, first, width, fits: width <= room };
    }),
  );
  return tried.find(({ fits }) => fits) ?? tried.slice(-2)[Number(targets.length > aspects.length)];
}

/** The width of the longest of some names; where there is little room, of their longest word. @param {string[]} names @param {"target" | "aspect"} kind @param {Size} size */
function longest(names, kind, size) {
  const words = size === "wide" ? names : names.flatMap((name) => name.split(/[\s/]|(?<=-)/));
  const letters = Math.max(0, ...words.map((word) => word.length));
  return Math.min(MOST_OF_HEAD, Math.ceil(letters * LETTERS[kind] * SMALLER[size]) + 8);
}
