// Why: the words that carry the answer of one cell, the sentences they stand in, and what was not read for it.

import { button, byId, fill, make, name, redraw } from "./dom.js";
import { passagesOf } from "./gates.js";
import { probabilityBars } from "./measures.js";
import { look, percent, points, tag } from "./states.js";
import { shownTarget } from "./text.js";
import { weighed } from "./weighed.js";

/**
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./evidence.js").Evidence} Evidence
 * @typedef {import("./evidence.js").Progress} Progress
 * @typedef {import("./evidence.js").Weighed} Weighed
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./states.js").Opinion} Opinion
 * @typedef {import("./view.js").View} View
 */

const LEAST_AGAINST = 0.03; // of a probability: less than that speaks against nothing
const MOST_AGAINST = 3;

/**
 * @param {{evidence: ReturnType<typeof import("./evidence.js").attachEvidence>,
 *          memory: ReturnType<typeof import("./memory.js").attachMemory>, mistake: (opinion: Opinion) => string | null,
 *          correct: (cell: Cell, at: () => HTMLElement | null) => void, alias: (target: string) => void,
 *          meant: (() => void), say: (words: string) => void}} what
 *   `correct` asks what is right, `alias` for another name of a target, `meant` says that the text is about it
 */
export function attachWhy({ evidence, memory, mistake, correct, alias, meant, say }) {
  const above = make("div", { id: "why-evidence" });
  const below = make("div", { id: "why-memory" });
  fill(byId("why"), above, below);
  /** @type {{answer: Answer, cell: Cell, state: string} | null} */
  let drawn = null;
  /** @type {Cell | null} */
  let asked = null;
  const ask = () => asked && correct(asked, () => wrong);
  const wrong = button("Is it wrong?", ask, { class: "quiet-button", id: "is-wrong", "aria-haspopup": "menu" });
  byId("why-actions").append(wrong);

  /** @param {Answer} answer @param {Opinion} opinion @param {Cell} cell */
  function drawRead(answer, opinion, cell) {
    const progress = evidence.of(cell);
    const known = drawn?.answer === answer && drawn.cell === cell && drawn.state === progress.state;
    if (known) return;
    drawn = { answer, cell, state: progress.state };
    const told = progress.state === "told" ? progress.evidence : null;
    const { element, strongest } = weighed(answer, cell.target, told, opinion.polarity);
    redraw(
      above,
      element,
      ...(told ? carriers(told, opinion, answer) : [waiting(progress)]),
      make("div", { class: "bars-row" }, told && phrases(told, opinion, answer), probabilityBars(opinion)),
      told && sentences(told, answer.text),
      unread(answer, cell.target),
    );
    if (element.scrollHeight > element.clientHeight + 1) {
      element.tabIndex = 0; // so that keys can scroll it
      if (strongest) element.scrollTop = strongest.offsetTop - element.offsetTop - element.clientHeight / 3;
    }
    if (told) say(summary(told, opinion, answer.text));
  }

  /** @param {Progress} progress */
  function waiting(progress) {
    if (progress.state !== "failed")
      return make("p", { class: "scale waiting", role: "status" }, "Looking for the words that carry this answer…");
    return make(
      "p",
      { class: "notice", id: "evidence-problem" },
      `The words that carry this answer could not be found: ${progress.problem.message.replace(/\.$/, "")}. `,
      button("Try again", evidence.again, { class: "link-button", "data-key": "again" }),
    );
  }

  /** What of the text was not read for a target, and what to do. @param {Answer} answer @param {string} target */
  function unread(answer, target) {
    const spans = answer.explanation?.unread?.find((one) => one.target === target)?.spans ?? [];
    if (!spans.length || !target) return null;
    const [are, they, one] =
      spans.length > 1
        ? ["sentences were", "they neither name", "one of them"]
        : ["sentence was", "it neither names", "it"];
    return make(
      "div",
      { class: "note", id: "unread" },
      make(
        "p",
        {},
        `The grey ${are} not read for `,
        name(target),
        `: ${they} it nor go on from a sentence that does. If ${one} means it, say so:`,
      ),
      remedies(target),
    );
  }

  /** @param {string} target */
  function remedies(target) {
    return make(
      "p",
      { class: "actions" },
      button("Add the name it has there", () => alias(target), { class: "link-button", "data-key": "alias" }),
      button("The text is about it", meant, { class: "link-button", "data-key": "meant" }),
    );
  }

  /** @param {string} target */
  function drawUnread(target) {
    drawn = null;
    evidence.stop();
    redraw(
      above,
      make(
        "p",
        { class: "note" },
        "The text does not mention ",
        name(target),
        ", so nothing was read for it, and this is no answer. Does the text call it something else, or is it what the text is about?",
      ),
      remedies(target),
    );
  }

  return {
    /** @param {Answer} answer @param {Cell | null} cell @param {View} view */
    show(answer, cell, view) {
      const opinion = cell && answer.opinions.find((one) => one.target === cell.target && one.aspect === cell.aspect);
      if (!cell || !opinion) {
        drawn = null;
        evidence.stop();
        fill(byId("verdict"));
        wrong.hidden = true;
        fill(below);
        const hint = "Choose a cell of the table, and the words that carry its answer light up here.";
        return redraw(above, make("p", { class: "hint" }, hint));
      }
      const read = !answer.explanation || passagesOf(answer.explanation, cell.target).length > 0;
      fill(byId("verdict"), ...verdict(opinion, read, mistake(opinion)));
      asked = cell;
      wrong.hidden = !read;
      if (read) drawRead(answer, opinion, cell);
      else drawUnread(cell.target);
      const box = memory.show(answer, cell, view);
      if (!box) fill(below);
      else if (box.parentElement !== below) fill(below, box);
      memory.shade();
    },
  };
}

/** @param {Opinion} opinion @param {boolean} read @param {string | null} right where the answer is known to be wrong */
function verdict(opinion, read, right) {
  const sure = ` ${percent(opinion.probabilities[opinion.polarity])}% sure`;
  return [
    make("strong", {}, name(shownTarget(opinion.target))),
    " on ",
    name(opinion.aspect),
    " ",
    ...(read ? [tag(opinion.polarity), sure] : [make("span", { class: "tag not-read" }, "– not read")]),
    right !== null && make("span", { class: "known" }, "✗ Wrong: a person would say ", tag(right)),
  ];
}

/** What speaks against the answer, and what the marks mean. @param {Evidence} evidence @param {Opinion} opinion @param {Answer} answer */
function carriers({ words }, opinion, { text }) {
  const against = words
    .filter(({ weight }) => weight <= -LEAST_AGAINST)
    .sort((a, b) => a.weight - b.weight)
    .slice(0, MOST_AGAINST);
  const speaks = opinion.polarity === "none" ? "speaks for an opinion" : "speaks against it";
  return [
    make(
      "p",
      { class: "scale" },
      make(
        "span",
        { class: "sample", "data-tone": look(opinion.polarity).tone, "aria-hidden": true },
        "carries the answer",
      ),
      against.length > 0 && make("span", { class: "sample against" }, speaks, ": ", ...listed(against, text)),
      make("output", { id: "readout" }),
    ),
  ];
}

/** @param {Weighed[]} some @param {string} text */
function listed(some, text) {
  const characters = Array.from(text);
  return some.flatMap(({ start, end, weight }, place) => [
    place > 0 && ", ",
    quoted(characters.slice(start, end).join("")),
    ` ${points(-weight)}`,
  ]);
}

/** The phrases that carry the answer. @param {Evidence} evidence @param {Opinion} opinion @param {Answer} answer */
function phrases({ phrases: found }, { polarity, aspect }, { text }) {
  const characters = Array.from(text);
  const lines = found.map(({ start, end, weight }) => {
    const bar = make("span", { class: `level ${look(polarity).tone}`, "aria-hidden": true });
    bar.style.setProperty("--share", String(Math.max(0, Math.min(1, weight))));
    return make(
      "li",
      {},
      quoted(characters.slice(start, end).join("")),
      make("span", { class: "number" }, points(-weight)),
      make("span", { class: "track" }, bar),
    );
  });
  const none =
    polarity === "none" ? `No word speaks of ${aspect}.` : "No phrase carries it by itself: it rests on the whole.";
  return make(
    "div",
    { class: "phrases" },
    make("h3", { id: "phrases-told" }, found.length ? "Carried by: what the answer loses without it" : "Carried by"),
    found.length ? make("ol", { "aria-labelledby": "phrases-told" }, ...lines) : make("p", {}, none),
  );
}

/** The sentences that carry it, each with its own answer. @param {Evidence} evidence @param {string} text */
function sentences({ sentences: found }, text) {
  const characters = Array.from(text);
  const parts = found.map((one) => ({ ...one, words: characters.slice(one.start, one.end).join("").trim() }));
  if (!parts.length || parts[0].words === text.trim()) return null;
  const lines = parts.map(({ words, polarity, probabilities }) =>
    make(
      "li",
      {},
      tag(polarity),
      make("small", {}, `${percent(probabilities[polarity])}%`),
      make("q", { dir: "auto" }, words),
    ),
  );
  const title =
    parts.length > 1 ? "The sentences that carry it, each by itself" : "The sentence that carries it, by itself";
  return make("div", { class: "sentences" }, make("h3", {}, title), make("ol", {}, ...lines));
}

/** @param {Evidence} evidence @param {Opinion} opinion @param {string} text */
function summary({ phrases: found }, { polarity }, text) {
  const characters = Array.from(text);
  const told = found.map(({ start, end, weight }) => `“${characters.slice(start, end).join("")}” ${points(-weight)}`);
  return `${look(polarity).word}, ${told.length ? `carried by: ${told.join(", ")}` : "carried by no phrase alone"}.`;
}

/** Words in quotes; their direction of writing stays inside them. @param {string} words */
function quoted(words) {
  return make("q", {}, name(words));
}

/** Brings the reasons into view, as far as the chosen cell stays there. @param {HTMLElement | null} cell */
export function reveal(cell) {
  const wanted = byId("reading").getBoundingClientRect().top - innerHeight * 0.6;
  const most = (cell?.getBoundingClientRect().top ?? 0) - 8;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (Math.min(wanted, most) > 0) scrollBy({ top: Math.min(wanted, most), behavior: still ? "auto" : "smooth" });
}
