// What a reader can do with a report: open a cell, filter the sentences, compare two targets, choose a trend.
// Everything shown is in the page before this runs; text goes in as text, never as markup.

/**
 * @typedef {[positive: number, negative: number, n: number]} Counts
 * @typedef {{ names: string[], counts: number[][] }} Time
 * @typedef {{ targets: string[], aspects: string[], cells: Counts[][], time: Time | null }} Numbers
 * @typedef {{ positive: number, negative: number, n: number, judged: number, share: number, low: number, high: number }} Tally
 */

const Z = 1.959963984540054;
const PAGE = 40; // sentences at a time

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
/** @type {Numbers} */
const numbers = JSON.parse(byId("numbers").textContent ?? "");

/**
 * An element; children that are strings are text.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {(string | Node)[]} children
 */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// ---- counting, as tabsa.report.tally does

/** @param {Counts} counts @returns {Tally} */
function tallied([positive, negative, n]) {
  const judged = positive + negative;
  if (!judged) return { positive, negative, n, judged, share: NaN, low: 0, high: 1 };
  const share = positive / judged;
  const centre = share + (Z * Z) / (2 * judged);
  const reach = Z * Math.sqrt((share * (1 - share)) / judged + (Z * Z) / (4 * judged * judged));
  const whole = 1 + (Z * Z) / judged;
  const low = positive ? (centre - reach) / whole : 0;
  const high = negative ? (centre + reach) / whole : 1;
  return { positive, negative, n, judged, share, low, high };
}

/** The first share less the second, and both ends of its interval (Newcombe). @param {Tally} one @param {Tally} other */
function difference(one, other) {
  const apart = one.share - other.share;
  const low = apart - Math.hypot(one.share - one.low, other.high - other.share);
  const high = apart + Math.hypot(one.high - one.share, other.share - other.low);
  return { apart, low, high };
}

// ---- words, as tabsa.report.page.words has them

/** @param {number} share */
function percent(share) {
  const whole = Math.round(100 * share);
  if (whole === 0 && share > 0) return "<1%";
  return whole === 100 && share < 1 ? ">99%" : `${whole}%`;
}

/** @param {Tally} tally */
const between = (tally) => `${percent(tally.low)} to ${percent(tally.high)}`;

/** @param {number} number */
const counted = (number) => number.toLocaleString("en");

/** @param {number} value */
function points(value) {
  const shown = (100 * value).toFixed(1);
  if (Number(shown) === 0) return "0.0";
  return value > 0 ? `+${shown}` : shown.replace("-", "−");
}

/** Typing is an input, choosing a change: some browsers tell of one before the value is new. @param {HTMLFormElement} form @param {() => void} act */
function onChoice(form, act) {
  for (const kind of ["input", "change"]) form.addEventListener(kind, act);
}
