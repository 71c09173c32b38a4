// The page: the question, the service's answer, and the parts that show both.

import { asProblem, call, latest, post } from "./api.js";
import { attachCorrections } from "./corrections.js";
import { byId, copy, count, fill, make } from "./dom.js";
import { attachEditor, attachMarking } from "./editor.js";
import { TABLES, cards, mistakeIn } from "./examples.js";
import { attachExport } from "./export.js";
import { attachFile, attachWalk } from "./file.js";
import { attachGrid } from "./grid.js";
import { attachNotice } from "./notice.js";
import { certainty, ofWhichUnsure } from "./polarity.js";
import { UNKNOWN, attachQuestions } from "./questions.js";
import { EMPTY, fromFragment, lastAspects, questionOf, sameCell, toFragment } from "./state.js";
import { namesIn, shownTarget, wellFormed } from "./text.js";
import { attachTheme } from "./theme.js";
import { attachEvidence, attachWhy } from "./why.js";

const MOST_ADOPTED = 5; // names of a text that nobody chose
const SAVED_AFTER = 400; // milliseconds; browsers refuse an address that changes with every key
const SPOKEN_AFTER = 800; // before a screen reader is told of an answer

let model = UNKNOWN;
/** @type {import("./state.js").State} */
let state = location.hash.length > 1 ? fromFragment(location.hash) : { ...EMPTY, aspects: lastAspects() };
/** @type {import("./why.js").Answer | null} */
let answer = null;
let shown = null; // the answer, and what it was asked with
let adopting = false; // whether names that are found are chosen at once
let adopted = null; // those that were, as long as nobody touches them
let [speaking, saving] = [0, 0];

/** Tell a screen reader. @param {string} words @param {number} [after] */
function say(words, after = 0) {
  clearTimeout(speaking);
  speaking = setTimeout(() => (byId("status").textContent = words), after);
}

const implied = () => state.implied ?? model.implied;
const isRead = (/** @type {string} */ target) => !target || shown?.implied || shown?.mentioned.has(target);

const notice = attachNotice(byId("problem"));
const fileNotice = attachNotice(byId("file-problem"));
const questions = attachQuestions({ change, say });
const editor = attachEditor((text, pasted) => {
  adopting ||= pasted;
  change({ text });
});
const corrections = attachCorrections({
  shown: () => shown,
  changed: () => (grid.draw(), drawFound(), showWhy()),
  say,
});
const grid = attachGrid({ into: byId("opinions"), choose, correctionOf: corrections.of });
const evidence = attachEvidence({ question: () => questionOf(state, implied()), changed: showWhy });
const why = attachWhy({
  evidence,
  correctionOf: corrections.of,
  correct: (beside) => corrections.open(state.cell, beside),
  alias: questions.alias,
  implied: () => change({ implied: model.implied ? null : true }),
  say,
});
/** An opinion as a person corrected it. @param {import("./polarity.js").Opinion} one */
const corrected = (one) => {
  const right = corrections.of(one) ?? one.polarity;
  return right === one.polarity ? one : { ...one, polarity: right, corrected: true };
};
const exporting = attachExport({
  shown: () => shown && { ...shown, opinions: shown.opinions.map(corrected), model: model.name, isRead },
  say,
});
const walk = attachWalk({
  show: ({ text, targets: cell }) => {
    const targets = cell === null ? state.targets : namesIn(cell).map((name) => ({ name, aliases: [] }));
    load({ ...state, text, targets, cell: null });
    openTab("text");
  },
  say,
});
const file = attachFile({
  state: () => state,
  implied,
  say,
  found: (names) => {
    adopting = names.length > 0;
    suggest(names.map((one) => ({ ...one, aliases: [] })));
  },
  problem: (problem) => fileNotice.show(problem),
  fold: () => questions.fold(true),
  walk: walk.begin,
});

const opinions = latest({
  run: (signal) => post("v1/predict", { ...questionOf(state, implied()), explain: true }, signal),
  answered: (given) => {
    notice.show(null);
    invalid(null);
    show(given);
  },
  failed: (problem) => {
    notice.show(problem, () => (model.name ? opinions.ask(0) : loadModel()));
    invalid(problem.field);
    if (problem.retry === null || !grid.shows()) nothing(); // what may pass by itself leaves the last answer in place
  },
  busy: (busy) => byId("results").setAttribute("aria-busy", String(busy)),
});

const suggestions = latest({
  run: (signal) => post("v1/suggest", { text: wellFormed(state.text) }, signal),
  answered: ({ targets }) => suggest(targets.map(({ name }) => ({ name, aliases: [] }))),
  failed: () => suggest([]), // what matters is told with the opinions
});

/** Offer names; after a paste the first of them are targets at once, where nobody chose others.
 * @param {import("./chips.js").Item[]} names */
function suggest(names) {
  questions.targets.offer(names);
  const untouched = !state.targets.length || state.targets === adopted;
  if (adopting && untouched && names.length && !implied()) {
    adopted = names.slice(0, MOST_ADOPTED);
    change({ targets: adopted });
  }
  adopting = false;
}

/** The one place where the state changes. @param {Partial<import("./state.js").State>} patch */
function change(patch) {
  state = { ...state, ...patch };
  if (patch.targets && state.cell && !state.targets.some(({ name }) => name === state.cell.target)) state.cell = null;
  if ("text" in patch) {
    byId("clear").hidden = !state.text;
    if (state.text.trim()) suggestions.ask();
    else {
      suggestions.stop();
      questions.targets.offer([]);
    }
  }
  if (Object.keys(patch).some((name) => name !== "cell")) {
    questions.show(state);
    file.draw();
    ask();
  } else {
    grid.mark(state.cell);
    showWhy();
  }
  clearTimeout(saving);
  saving = setTimeout(() => history.replaceState(null, "", `#${toFragment(state)}`), SAVED_AFTER);
}

/** Ask for opinions, or say what is missing. */
function ask() {
  const empty = !state.text.trim();
  const missing = empty ? intro() : whatIsMissing();
  if (!missing) return opinions.ask();
  opinions.stop();
  notice.show(null);
  invalid(null);
  nothing(missing, empty && cards(model.open_aspects, load));
  questions.fold(empty);
}

function intro() {
  return make("div.intro",
    make("p.lead", "Paste a review or a post, and see who is judged in it, on what, and how."),
    make(
      "p",
      "tabsa finds the names in a text and says, for each name and each aspect, whether it is praised, criticised or " +
        "not spoken of, how sure it is, and which words say so. It reads English, and it errs. Try one:",
    ),
  );
}

function whatIsMissing() {
  if (!state.targets.length && !implied()) {
    const hint =
      "Who may be judged? Take a name that is offered, select one in the text, or type it. Where the text does not " +
      "name what it is about, tick the box below the names.";
    return make("p.hint", hint);
  }
  if (!state.aspects || state.aspects.length) return null;
  return make("p.hint", "On what? Choose at least one aspect.");
}

/** Show something else in place of opinions. @param {import("./dom.js").Child[]} instead */
function nothing(...instead) {
  corrections.close();
  [answer, shown] = [null, null];
  grid.show(null);
  editor.underline(state.text, []);
  fill(byId("opinions"), ...instead);
  byId("mistake").hidden = true;
  drawFound();
  corrections.draw();
  exporting.draw();
  showWhy();
}

/** Show an answer; what the text is about and does not name is "" on this page. */
function show(given) {
  corrections.close();
  for (const opinion of given.opinions) opinion.target ??= "";
  for (const passage of given.explanation?.passages ?? []) passage.targets = passage.targets.map((one) => one ?? "");
  for (const one of given.explanation?.unread ?? []) one.target ??= "";
  answer = given;
  const mentioned = new Set(given.mentions.map(({ target }) => target));
  shown = { text: given.text, opinions: given.opinions, mentioned, targets: state.targets, implied: implied() };
  editor.underline(given.text, given.mentions);
  grid.mark(state.cell);
  grid.show(shown);
  const mistake = mistakeIn(given.text, given.opinions);
  byId("mistake").hidden = !mistake;
  byId("mistake").textContent = mistake;
  drawFound();
  corrections.draw();
  exporting.draw();
  showWhy();
  questions.fold(true);
  const found = given.opinions.filter(({ polarity }) => polarity !== "none");
  const words = found.slice(0, 6).map((one) => `${shownTarget(one.target)}, ${one.aspect}: ${one.polarity}`);
  say([`${count(found.length, "opinion")} found`, ...words].join(". "), SPOKEN_AFTER);
}

/** How many opinions there are, as corrected, and how many of them are unsure. */
function drawFound() {
  const found = (shown?.opinions ?? []).map(corrected).filter(({ polarity }) => polarity !== "none");
  const unsure = found.filter((one) => corrections.of(one) === null && certainty(one).unsure);
  byId("found").textContent = shown ? `${found.length}${ofWhichUnsure(unsure.length)}` : "";
}

/** The first time shows why, the second asks what is right. @param {import("./state.js").Cell} cell */
function choose(cell) {
  if (sameCell(cell, state.cell)) return corrections.open(cell, grid.at(cell));
  change({ cell });
  const { top } = byId("reading").getBoundingClientRect();
  const room = (grid.at(cell)?.getBoundingClientRect().top ?? 0) - 8; // the cell stays in view
  scrollBy({ top: Math.max(0, Math.min(top - innerHeight * 0.6, room)) });
}

function showWhy() {
  byId("reading").hidden = !answer || byId("main").dataset.mode !== "text";
  why.show(answer, state.cell, isRead);
}

/** Mark the field that the service did not like. @param {string | null} field */
function invalid(field) {
  const fields = { text: byId("text"), targets: byId("add-target"), aspects: questions.aspectField };
  for (const [name, element] of Object.entries(fields))
    element.setAttribute("aria-invalid", String(Boolean(field?.startsWith(name))));
}

/** Show a question that was not typed: a link's, an example's. @param {import("./state.js").State} other */
function load(other) {
  if (model.name && !model.open_aspects && other.aspects?.every((one) => !model.aspects.includes(one)))
    other = { ...other, aspects: null }; // a link for another model
  editor.show(other.text);
  questions.forget();
  answer = null;
  change(other);
}

async function loadModel() {
  try {
    const { models, default: name, corrections: file } = await (await call("v1/models")).json();
    model = models.find((one) => one.name === name) ?? models[0];
    questions.use(model);
    corrections.use(model, file);
    const aspects = model.open_aspects ? "any aspects" : count(model.aspects.length, "aspect");
    byId("model").textContent = `Model: ${model.name}, ${aspects}.`;
    notice.show(null);
    load(state);
  } catch (error) {
    notice.show(asProblem(error), loadModel);
  }
}

/** Open one of the two tabs. @param {string} mode "text" or "file" */
function openTab(mode) {
  byId("main").dataset.mode = mode;
  for (const one of ["text", "file"]) {
    byId(`tab-${one}`).setAttribute("aria-selected", String(one === mode));
    byId(`tab-${one}`).tabIndex = one === mode ? 0 : -1;
    byId(`panel-${one}`).hidden = one !== mode;
  }
  byId("results").hidden = mode !== "text";
  byId("scoring").hidden = mode !== "file";
  if (mode === "file") questions.fold(false);
  else if (state.text.trim()) suggestions.ask();
  file.draw();
  showWhy();
}

for (const mode of ["text", "file"]) {
  const other = mode === "text" ? "file" : "text";
  byId(`tab-${mode}`).addEventListener("click", () => openTab(mode));
  byId(`tab-${mode}`).addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    openTab(other);
    byId(`tab-${other}`).focus();
  });
}
attachTheme(byId("theme"));
attachMarking({
  targets: () => state.targets,
  add: (name) => questions.targets.take([{ name, aliases: [] }]),
  alias: (alias, name) => questions.targets.take([{ name, aliases: [alias] }]),
});
byId("copy-link").addEventListener("click", async () => {
  const link = `${location.origin}${location.pathname}#${toFragment(state)}`;
  const done = (await copy(link)) ? "Link copied" : "Copy it from the address bar";
  byId("copy-link").textContent = done;
  say(done);
  setTimeout(() => (byId("copy-link").textContent = "Copy link"), 2500);
});
byId("example-table").addEventListener("click", () =>
  file.choose(new File([model.open_aspects ? TABLES.anything : TABLES.places], "comments.csv")),
);
byId("clear").addEventListener("click", () => {
  load({ ...EMPTY, aspects: lastAspects() });
  byId("text").focus();
});
const carriesFile = (event) => event.dataTransfer?.types.includes("Files");
for (const kind of ["dragover", "dragleave", "drop"])
  addEventListener(kind, (event) => byId("drop").classList.toggle("over", kind === "dragover" && carriesFile(event)));
addEventListener("dragover", (event) => carriesFile(event) && event.preventDefault());
addEventListener("drop", (event) => {
  if (!carriesFile(event)) return;
  event.preventDefault();
  openTab("file");
  if (event.dataTransfer.files[0]) file.choose(event.dataTransfer.files[0]);
});
addEventListener("hashchange", () => load(fromFragment(location.hash)));
loadModel();
