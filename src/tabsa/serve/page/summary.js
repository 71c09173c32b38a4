// What a scored table says: targets by aspects, with counts and intervals: 2 of 3 does not look like 200 of 300.

import { make, name, unseen } from "./dom.js";
import { shownTarget } from "./text.js";

/**
 * @typedef {{counts: Record<string, number>, n: number, judged: number, share_positive: number | null,
 *            interval: [number, number] | null, net: number | null, verdict: string}} Tally
 * @typedef {Tally & {target: string | null, aspect: string}} SummaryCell
 * @typedef {{sentences: string[], texts: number, texts_with_opinion: number, targets: (string | null)[],
 *            aspects: string[], polarities: string[], total: Tally,
 *            target_totals: (Tally & {target: string | null})[], aspect_totals: (Tally & {aspect: string})[],
 *            cells: SummaryCell[], time: {column: string, bucket: string, undated: number} | null,
 *            silent: {texts: number | null, targets: (string | null)[], aspects: string[]},
 *            rejected: {rows: number, reasons: Record<string, number>, unreadable: number},
 *            left_out: {targets: number, aspects: number}}} Summary
 * @typedef {{target?: string | null, aspect?: string, tally: Tally}} Asked a cell, a row of them, or all
 */

/** @type {Record<string, {sign: string, words: string}>} */
const VERDICTS = {
  positive: { sign: "▲", words: "mostly positive" },
  negative: { sign: "▼", words: "mostly negative" },
  unclear: { sign: "◇", words: "cannot tell which side has more" },
  none: { sign: "–", words: "silent" },
};

const ABOUT =
  "The share of positive opinions among those that take a side, how many they are, and the 95% interval of the " +
  "share. The colour is as deep as that leaves no doubt. A cell leads to the texts behind it.";

/** @param {Summary} found @param {(asked: Asked) => void} choose shows the rows behind a number */
export function summary(found, choose) {
  return make(
    "div",
    { class: "summary" },
    make("p", { class: "lead" }, found.sentences.join(" ")),
    found.total.n > 0 && heat(found, choose),
    found.total.n > 0 && make("p", { class: "note" }, ABOUT),
    rest(found),
  );
}

/** @param {Summary} found @param {(asked: Asked) => void} choose */
function heat(found, choose) {
  const silent = { targets: new Set(found.silent.targets), aspects: new Set(found.silent.aspects) };
  const targets = found.targets.filter((target) => !silent.targets.has(target));
  const aspects = found.aspects.filter((aspect) => !silent.aspects.has(aspect));
  const cells = new Map(found.cells.map((cell) => [key(cell.target, cell.aspect), cell]));
  const ofTarget = new Map(found.target_totals.map((tally) => [tally.target, tally]));
  const ofAspect = new Map(found.aspect_totals.map((tally) => [tally.aspect, tally]));
  /** @param {string | null} target @param {string} aspect */
  const one = (target, aspect) => {
    const cell = cells.get(key(target, aspect));
    return box(cell ? { target, aspect, tally: cell } : null, choose);
  };
  /** @param {string | null} target */
  const whole = (target) => box({ target, tally: /** @type {Tally} */ (ofTarget.get(target)) }, choose, "all");
  /** @param {string} aspect */
  const onAspect = (aspect) => box({ aspect, tally: /** @type {Tally} */ (ofAspect.get(aspect)) }, choose, "all");
  const everything = box({ tally: found.total }, choose, "all");
  // The longer list goes down, where there is room for it.
  const across = targets.length <= aspects.length;
  const heads = across ? targets.map(shownTarget) : aspects;
  const rows = across
    ? aspects.map((aspect) => row(aspect, [onAspect(aspect), ...targets.map((target) => one(target, aspect))]))
    : targets.map((target) => row(shownTarget(target), [whole(target), ...aspects.map((a) => one(target, a))]));
  const last = [everything, ...(across ? targets.map(whole) : aspects.map(onAspect))];
  return make(
    "div",
    { class: "heat-frame", tabindex: 0, role: "group", "aria-label": "Targets by aspects" },
    make(
      "table",
      { class: "heat" },
      make("caption", {}, unseen("Positive among opinions that take a side")),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "col" }, across ? "aspect" : "target"),
          make("th", { scope: "col", class: "all" }, across ? "all targets" : "all aspects"),
          ...heads.map((head) => make("th", { scope: "col" }, name(head))),
        ),
      ),
      make("tbody", {}, ...rows, row(across ? "all aspects" : "all targets", last, "all")),
    ),
  );
}

/** @param {string} head @param {HTMLElement[]} cells @param {string} [look] */
function row(head, cells, look) {
  return make("tr", { class: look }, make("th", { scope: "row" }, name(head)), ...cells);
}

/** @param {Asked | null} asked @param {(asked: Asked) => void} choose @param {string} [kind] */
function box(asked, choose, kind = "") {
  if (!asked?.tally?.n) return make("td", { class: `silent ${kind}`.trim() }, "–", unseen("silent"));
  const { tally } = asked;
  const { sign } = VERDICTS[tally.verdict];
  const about = [asked.target === undefined ? "all targets" : shownTarget(asked.target), asked.aspect ?? "all aspects"];
  const button = make(
    "button",
    { type: "button", class: `heat-cell ${tally.verdict}`, onclick: () => choose(asked), title: spoken(tally) },
    unseen(`${about.join(", ")}: ${spoken(tally)}`),
    make(
      "span",
      { "aria-hidden": true },
      make("b", {}, tally.share_positive === null ? "○" : `${sign}\u00a0${percent(tally.share_positive)}`),
      track(tally),
      make(
        "small",
        {},
        tally.judged
          ? `${count(tally.counts.positive ?? 0)} of ${count(tally.judged)}`
          : `${count(tally.n)} without a side`,
      ),
    ),
  );
  button.style.setProperty("--depth", depth(tally).toFixed(2));
  return make("td", { class: kind || undefined }, button);
}

/** The share as a mark on a line, and its interval as a bar. @param {Tally} tally */
function track({ share_positive: share, interval }) {
  if (share === null || !interval) return null;
  const line = make("i", { class: "interval" });
  line.style.setProperty("--low", interval[0].toFixed(3));
  line.style.setProperty("--high", interval[1].toFixed(3));
  line.style.setProperty("--share", share.toFixed(3));
  return line;
}

/** How deep a colour is: by the end of the interval that is nearer the middle. @param {Tally} tally */
function depth({ interval }) {
  return interval ? Math.sqrt(Math.max(0, 2 * interval[0] - 1, 1 - 2 * interval[1])) : 0;
}

/** A tally as a person would say it. @param {Tally} tally */
export function spoken(tally) {
  const { share_positive: share, interval, judged, n, counts } = tally;
  if (!n) return "silent";
  if (share === null || !interval) return `${count(n)} spoken of without taking a side`;
  const others = n > judged ? `, ${count(n - judged)} without a side` : "";
  const between = `${percent(interval[0])} to ${percent(interval[1])}`;
  const positive = `${count(counts.positive ?? 0)} of ${count(judged)} positive, ${percent(share)}`;
  return `${positive}, 95% interval ${between}${others}; ${VERDICTS[tally.verdict].words}`;
}

/** What is not in the table: silence, and rows that were not read. @param {Summary} found */
function rest({ silent, rejected, left_out: left, time }) {
  const undated = time?.undated ? `; ${rowsCount(time.undated)} without a date that can be read` : "";
  const reasons = Object.entries(rejected.reasons).map(([why, rows]) => `${why} (${count(rows)})`);
  const lines = [
    silent.texts &&
      `${count(silent.texts)} ${silent.texts === 1 ? "text has" : "texts have"} no opinion on what was asked.`,
    silent.targets.length && `Nobody speaks of ${silent.targets.map(shownTarget).join(", ")}.`,
    silent.aspects.length && `Nobody speaks of ${silent.aspects.join(", ")}.`,
    rejected.rows && `${rowsCount(rejected.rows)} could not be read: ${reasons.join("; ")}.`,
    (left.targets || left.aspects) && `${left.targets + left.aspects} more are in the summary as CSV.`,
    time && `The change over time, by ${time.column}, is in the report${undated}.`,
  ].filter(Boolean);
  return (
    lines.length > 0 &&
    make("ul", { class: "rest" }, ...lines.map((line) => make("li", {}, /** @type {string} */ (line))))
  );
}

/** @param {string | null} target @param {string} aspect */
function key(target, aspect) {
  return JSON.stringify([target, aspect]);
}

/** A share in whole percent; one that is not 0 or 1 is not shown as such. @param {number} share */
function percent(share) {
  const whole = Math.round(100 * share);
  if (whole === 0 && share > 0) return "<1%";
  return whole === 100 && share < 1 ? ">99%" : `${whole}%`;
}

/** @param {number} number */
function count(number) {
  return number.toLocaleString("en");
}

/** @param {number} rows */
export function rowsCount(rows) {
  return `${count(rows)} row${rows === 1 ? "" : "s"}`;
}
