// The texts behind a number: which they are, with the words that name the target, a filter, and the way back.

import { asProblem, get, isAbort } from "./api.js";
import { button, fill, make, name, radios, redraw, unseen } from "./dom.js";
import { look, tag } from "./states.js";
import { spoken } from "./summary.js";
import { pieces, shownTarget, toUnits } from "./text.js";

/**
 * @typedef {{id: string, date: string | null, text: string, target: string | null, aspect: string, polarity: string,
 *            probability: number | null, evidence: string | null, mentions: [number, number][]}} FoundRow
 * @typedef {{address: string, cell: import("./summary.js").Asked, summary: import("./summary.js").Summary,
 *            back: () => void, open: (text: string, target: string | null) => void}} View
 */

const PAGE = 20; // rows
const DELAY = 200; // milliseconds without a key before texts are looked for

/**
 * @param {{into: HTMLElement, problem: (problem: import("./api.js").Problem | null) => void,
 *          say: (words: string) => void}} what
 */
export function attachBehind({ into, problem, say }) {
  /** @type {AbortController | null} */
  let asking = null;
  let typing = 0;

  /** @param {View} view */
  function show(view) {
    const { cell, summary } = view;
    const focused = document.activeElement;
    const place = [...into.querySelectorAll("button")].indexOf(/** @type {HTMLButtonElement} */ (focused));
    const asked = { polarity: "", words: "" };
    const list = make("ol", { class: "behind-rows" });
    const told = make("p", { class: "note", role: "status" });
    const more = button("", () => load(), { class: "quiet-button more" });
    const about = [
      cell.target === undefined ? "All targets" : shownTarget(cell.target),
      cell.aspect === undefined ? "" : ` on ${cell.aspect}`,
    ].join("");
    const heading = make("h3", { class: "behind-title", tabindex: -1 }, name(about));

    function back() {
      asking?.abort();
      view.back();
      const again = into.querySelectorAll("button")[place];
      if (again instanceof HTMLElement) again.focus();
    }

    /** @param {boolean} [anew] */
    async function load(anew = false) {
      asking?.abort();
      const { signal } = (asking = new AbortController());
      const offset = anew ? 0 : list.children.length;
      try {
        const given = await get(`${view.address}/rows?${query(cell, asked, offset)}`, { signal });
        problem(null);
        if (anew) fill(list);
        const lines = given.rows.map((/** @type {FoundRow} */ row) => line(row, cell, view.open));
        list.append(...lines);
        const shown = list.children.length;
        told.textContent = given.total
          ? `${shown.toLocaleString("en")} of ${given.total.toLocaleString("en")} shown`
          : "No text is like that.";
        more.hidden = shown >= given.total;
        more.textContent = `Show ${Math.min(PAGE, given.total - shown)} more`;
        if (!anew) lines[0]?.querySelector("button")?.focus();
      } catch (error) {
        if (!isAbort(error)) problem(asProblem(error));
      }
    }

    function draw() {
      const polarities = summary.polarities.filter((one) => cell.tally.counts[one]);
      const choices = [
        { value: "", label: "all" },
        ...polarities.map((one) => ({ value: one, label: look(one).word })),
      ];
      const search = make("input", {
        type: "search",
        "aria-label": "Words that the text holds",
        placeholder: "Filter the texts",
        oninput: (/** @type {Event} */ event) => {
          asked.words = /** @type {HTMLInputElement} */ (event.target).value;
          clearTimeout(typing);
          typing = setTimeout(() => load(true), DELAY);
        },
      });
      redraw(
        into,
        button("← Back to the summary", back, { class: "quiet-button back" }),
        heading,
        make("p", { class: "note" }, spoken(cell.tally), "."),
        make(
          "div",
          { class: "controls behind-controls" },
          choices.length > 2 &&
            radios({
              legend: "Polarity",
              group: "behind",
              options: choices,
              chosen: asked.polarity,
              choose: (polarity) => {
                asked.polarity = polarity;
                load(true);
              },
            }),
          search,
        ),
        list,
        told,
        more,
      );
    }

    draw();
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "nearest" });
    say(`The texts behind ${about}.`);
    load(true);
  }

  return { show };
}

/**
 * @param {import("./summary.js").Asked} cell
 * @param {{polarity: string, words: string}} asked
 * @param {number} offset
 */
function query(cell, { polarity, words }, offset) {
  const fields = new URLSearchParams({ offset: String(offset), limit: String(PAGE) });
  if (cell.target === null) fields.set("unnamed", "true");
  else if (cell.target !== undefined) fields.set("target", cell.target);
  if (cell.aspect !== undefined) fields.set("aspect", cell.aspect);
  if (polarity) fields.set("polarity", polarity);
  if (words.trim()) fields.set("words", words.trim());
  return fields;
}

/**
 * @param {FoundRow} row
 * @param {import("./summary.js").Asked} cell
 * @param {(text: string, target: string | null) => void} open
 */
function line(row, cell, open) {
  const pair = [cell.target === undefined && shownTarget(row.target), cell.aspect === undefined && row.aspect];
  const sure = row.probability === null ? "" : `${Math.round(100 * row.probability)}% sure`;
  const facts = [`id ${row.id}`, row.date, sure].filter(Boolean).join(", ");
  const opening = button("Open", () => open(row.text, row.target), { class: "link-button" });
  opening.append(unseen(" this text, to see why and to correct it"));
  return make(
    "li",
    {},
    make("p", { class: "behind-text", dir: "auto" }, ...marked(row)),
    make(
      "p",
      { class: "behind-facts" },
      tag(row.polarity),
      pair.some(Boolean) && make("span", {}, name(pair.filter(Boolean).join(" on "))),
      make("small", {}, facts),
      opening,
    ),
  );
}

/** A text with the target's names and the evidence told apart. @param {FoundRow} row */
function marked({ text, mentions, evidence }) {
  const units = toUnits(text);
  const names = mentions.map(([start, end]) => /** @type {[number, number]} */ ([units(start), units(end)]));
  const at = evidence ? text.indexOf(evidence) : -1;
  /** @type {[number, number][]} */
  const carries = evidence && at >= 0 ? [[at, at + evidence.length]] : [];
  return pieces(text.length, [names, carries]).map(({ span: [start, end], at: [named, carried] }) => {
    const words = text.slice(start, end);
    const inner = named === null ? words : make("mark", {}, words);
    return carried === null ? inner : make("span", { class: "carries-it" }, inner);
  });
}
