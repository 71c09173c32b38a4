// Why: the words that carry the answer of one cell, the sentences they stand in, and what was not read for it.

import { latest, post } from "./api.js";
import { bdi, button, byId, fill, make } from "./dom.js";
import { shaded } from "./gates.js";
import { certainty, look, percent, points, tag } from "./polarity.js";
import { sameCell } from "./state.js";
import { pieces, shownTarget, toUnits } from "./text.js";

/**
 * @typedef {import("./polarity.js").Opinion} Opinion
 * @typedef {{start: number, end: number, weight: number}} Weighed what the probability loses without these words
 * @typedef {{start: number, end: number, polarity: string, probabilities: Record<string, number>}} Sentence
 * @typedef {{words: Weighed[], phrases: Weighed[], sentences: Sentence[], unread: number[][]}} Evidence
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {{text: string, opinions: Opinion[], mentions: {target: string, spans: number[][]}[],
 *            explanation: import("./gates.js").Explanation | null}} Answer
 */

const MOST_CACHED = 200;
const LEAST_WEIGHT = 0.03; // of a probability: a word of less is not marked
const LEAST_SCALE = 0.15; // what is marked to the full where no word weighs more
const MOST_AGAINST = 3;
const HINT = "Choose an answer in the table, and the words that carry it light up here.";
const NOT_READ =
  ", so nothing was read for it, and this is no answer. Does the text call it something else, or is it what the text " +
  "is about?";

/** Ask for the evidence of a cell when it is chosen, and cache it.
 * @param {{question: () => object, changed: () => void}} what `changed`: there is news of the cell last asked for */
export function attachEvidence({ question, changed }) {
  /** @type {Map<string, Evidence>} */
  const cache = new Map();
  let wanted = { key: "", body: {} };
  let problem = null;

  const live = latest({
    delay: 120,
    run: async (signal) => {
      const { key, body } = wanted;
      cache.set(key, await post("v1/evidence", body, signal));
      if (cache.size > MOST_CACHED) cache.delete(cache.keys().next().value);
    },
    answered: () => changed(),
    failed: (found) => {
      problem = found;
      changed();
    },
  });

  return {
    /** The evidence of a cell, a problem, or neither while the service is asked.
     * @param {Cell} cell @returns {{evidence?: Evidence, problem?: import("./api.js").Problem}} */
    of({ target, aspect }) {
      const body = { ...question(), of: { target: target || null, aspect } };
      const key = JSON.stringify(body);
      if (wanted.key !== key) {
        [wanted, problem] = [{ key, body }, null];
        if (cache.has(key)) live.stop();
        else live.ask();
      }
      return { evidence: cache.get(key), problem };
    },
    /** Ask once more after a failure. */
    again() {
      problem = null;
      live.ask(0);
      changed();
    },
    /** Nothing is looked at now. */
    stop() {
      wanted = { key: "", body: {} };
      live.stop();
    },
  };
}

/**
 * @param {{evidence: ReturnType<typeof attachEvidence>, correctionOf: (cell: Cell) => string | null,
 *          correct: (beside: HTMLElement) => void,
 *          alias: (target: string) => void, implied: () => void, say: (words: string) => void}} what
 *   `correctionOf`: what a person said is right; `correct` asks for it, `alias` for another name of a target,
 *   `implied` says that the text is about it
 */
export function attachWhy({ evidence, correctionOf, correct, alias, implied, say }) {
  const into = byId("why");
  const looks = { class: "quiet-button", id: "is-wrong", "aria-haspopup": "menu" };
  const wrong = button("Is it wrong?", () => correct(wrong), looks);
  byId("why-actions").append(wrong);
  let drawn = []; // what is there now: it need not be drawn again

  /** What to do where a text was not read for a target. @param {string} target */
  function remedies(target) {
    return make(
      "p.actions",
      button("Add the name it has there", () => alias(target), { class: "link-button", "data-key": "alias" }),
      button("The text is about it", implied, { class: "link-button", "data-key": "implied" }),
    );
  }

  /** @param {Answer} answer @param {Opinion} opinion */
  function drawRead(answer, opinion) {
    const { evidence: found, problem } = evidence.of(opinion);
    const now = [answer, opinion, found, problem];
    if (now.every((one, place) => one === drawn[place])) return;
    drawn = now;
    const unread = answer.explanation?.unread?.find((one) => one.target === opinion.target)?.spans ?? [];
    fill(
      into,
      words(answer, opinion, found, unread),
      !found && !problem && make("p.note.waiting", { role: "status" }, "Looking for the words that carry this answer…"),
      problem && failure(problem.message, evidence.again),
      make("div.columns", found && phrases(found, opinion, answer.text), bars(opinion)),
      found && sentences(found, opinion, answer.text),
      unread.length > 0 && opinion.target && unreadNote(unread.length, opinion.target),
      unread.length > 0 && opinion.target && remedies(opinion.target),
      shaded(answer, opinion),
    );
    if (found) say(summary(found, opinion, answer.text));
  }

  /** @param {Child[]} instead what is shown in place of evidence */
  function drawNone(...instead) {
    drawn = [];
    evidence.stop();
    fill(into, ...instead);
  }

  return {
    /** @param {Answer | null} answer @param {Cell | null} cell @param {(target: string) => boolean} isRead */
    show(answer, cell, isRead) {
      const opinion = cell && answer?.opinions.find((one) => sameCell(one, cell));
      const read = Boolean(opinion && isRead(opinion.target));
      wrong.hidden = !read;
      fill(byId("verdict"), ...(opinion ? verdict(opinion, read, correctionOf(opinion)) : []));
      if (!answer || !opinion) drawNone(make("p.hint", HINT));
      else if (read) drawRead(answer, opinion);
      else drawNone(make("p.note", "The text does not mention ", bdi(cell.target), NOT_READ), remedies(cell.target));
    },
  };
}

/** @param {Opinion} opinion @param {boolean} read @param {string | null} right what a person said is right */
function verdict(opinion, read, right) {
  const { percent: sure, unsure } = certainty(opinion);
  const said = [tag(opinion.polarity, unsure), ` ${sure} sure`];
  const other = right !== null && right !== opinion.polarity;
  const corrected = other ? [tag(right), " you say; the model says "] : [];
  const answer = read ? [...corrected, ...said] : [make("span.tag.not-read", "not read")];
  return [make("strong", bdi(shownTarget(opinion.target))), " on ", bdi(opinion.aspect), " ", ...answer];
}

/** @param {string} message @param {() => void} again */
function failure(message, again) {
  const retry = button("Try again", again, { class: "link-button", "data-key": "again" });
  return make("p.notice", `The words that carry it could not be found: ${message.replace(/\.$/, "")}. `, retry);
}

/**
 * The text: what carries the answer has a ground, the stronger the more it weighs, what speaks against it a wavy line;
 * the target's names are underlined, and what was not read is grey.
 * @param {Answer} answer @param {Opinion} opinion @param {Evidence | undefined} evidence @param {number[][]} unread
 */
function words({ text, mentions }, { target, polarity }, evidence, unread) {
  const unit = toUnits(text);
  const span = ([start, end]) => [unit(start), unit(end)];
  const spanOf = ({ start, end }) => span([start, end]);
  const named = mentions.filter((one) => one.target === target).flatMap((one) => one.spans);
  const weighed = evidence?.words ?? [];
  const first = (a, b) => a[0] - b[0];
  const strongest = (evidence?.phrases ?? []).map(spanOf).sort(first);
  const scale = Math.max(LEAST_SCALE, ...weighed.map(({ weight }) => Math.abs(weight)));
  const layers = [weighed.map(spanOf), named.map(span).sort(first), unread.map(span), strongest];
  const parts = pieces(text.length, layers).map(({ span: [start, end], at: [word, mention, grey, phrase] }) => {
    const weight = word === null ? 0 : weighed[word].weight;
    const marked = Math.abs(weight) >= LEAST_WEIGHT;
    const looks = [marked && (weight > 0 ? "for" : "against"), phrase !== null && "phrase", grey !== null && "unread"];
    const classes = looks.filter(Boolean);
    const content = text.slice(start, end);
    if (word === null && mention === null && !classes.length) return content;
    const part = make([mention === null ? "span" : "mark", ...classes].join("."), content);
    if (word !== null) Object.assign(part, { title: points(-weight) }).dataset.weight = weight.toFixed(4);
    if (marked) part.style.setProperty("--w", (Math.abs(weight) / scale).toFixed(3));
    return part;
  });
  return make(`div.words.${look(polarity).tone}`, { dir: "auto", id: "words" }, ...parts);
}

/** The phrases that carry the answer, and the words that speak against it.
 * @param {Evidence} evidence @param {Opinion} opinion @param {string} text */
function phrases({ phrases: found, words: weighed }, { polarity, aspect }, text) {
  const characters = Array.from(text);
  const quoted = ({ start, end }) => make("q", bdi(characters.slice(start, end).join("")));
  const lines = found.map((one) =>
    make("li", quoted(one), make("span.number", points(-one.weight)), make("span", level(polarity, one.weight))),
  );
  const part = (one, place) => [place ? ", " : " ", quoted(one), ` ${points(-one.weight)}`];
  const against = opposed(weighed).flatMap(part);
  const some = against.length > 0;
  if (polarity === "none")
    return make(
      "div.phrases",
      make("h3", `Nearest to an opinion${some ? ": what silence gains without it" : ""}`),
      make("p", ...(some ? against : [`No word comes near to an opinion on ${aspect}.`])),
    );
  return make(
    "div.phrases",
    make("h3", { id: "phrases-title" }, found.length ? "Carried by: what the answer loses without it" : "Carried by"),
    found.length
      ? make("ol", { "aria-labelledby": "phrases-title" }, ...lines)
      : make("p", "No phrase carries it by itself: it rests on the whole."),
    some && make("p.note", "Against it:", ...against),
  );
}

/** The words that speak most against an answer. @param {Weighed[]} words */
function opposed(words) {
  const found = words.filter(({ weight }) => weight <= -LEAST_WEIGHT);
  return found.sort((a, b) => a.weight - b.weight).slice(0, MOST_AGAINST);
}

/** The probability of each answer. @param {Opinion} opinion */
function bars({ probabilities }) {
  const rows = Object.entries(probabilities).map(([polarity, share]) => {
    const head = make("th", { scope: "row" }, look(polarity).word);
    return make("tr", head, make("td", level(polarity, share)), make("td.number", percent(share)));
  });
  return make("table.bars", make("caption", "Probabilities"), make("tbody", ...rows));
}

/** A bar as long as a share. @param {string} polarity @param {number} share */
function level(polarity, share) {
  const bar = make(`span.level.${look(polarity).tone}`, { "aria-hidden": true });
  bar.style.setProperty("--share", String(Math.max(0, Math.min(1, share))));
  return bar;
}

/** The sentences that carry it, each with its own answer.
 * @param {Evidence} evidence @param {Opinion} opinion @param {string} text */
function sentences({ sentences: found }, { target, polarity }, text) {
  const characters = Array.from(text);
  const wordsOf = ({ start, end }) => characters.slice(start, end).join("").trim();
  if (!found.length || wordsOf(found[0]) === text.trim()) return null;
  const lines = found.map((one) => {
    const share = make("small", percent(one.probabilities[one.polarity]));
    return make("li", tag(one.polarity), share, make("q", { dir: "auto" }, wordsOf(one)));
  });
  let title = found.length > 1 ? "Sentences that carry it, each by itself" : "The sentence that carries it, alone";
  if (polarity === "none") title = target ? "The sentence that names it, alone" : "The sentence nearest to an opinion";
  return make("div.sentences", make("h3", title), make("ol", ...lines));
}

/** @param {number} number of sentences @param {string} target */
function unreadNote(number, target) {
  const [were, they, one] =
    number > 1 ? ["sentences were", "they neither name", "one of them"] : ["sentence was", "it neither names", "it"];
  const note = `: ${they} it nor go on from a sentence that does. If ${one} means it, say so:`;
  return make("p.note", { id: "unread" }, `The grey ${were} not read for `, bdi(target), note);
}

/** @param {Evidence} evidence @param {Opinion} opinion @param {string} text */
function summary({ phrases: found, words: weighed }, { polarity }, text) {
  const characters = Array.from(text);
  const [shown, of] = polarity === "none" ? [opposed(weighed), "nearest to an opinion"] : [found, "carried by"];
  const parts = shown.map(({ start, end, weight }) => `“${characters.slice(start, end).join("")}” ${points(-weight)}`);
  return `${look(polarity).word}, ${of} ${parts.join(", ") || "no word by itself"}.`;
}
