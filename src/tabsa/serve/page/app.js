// The page: what is asked, what the service answers, and the parts that show both.

import { questionOf, withNames } from "./answer.js";
import { asProblem, post } from "./api.js";
import { attachAspects } from "./aspects.js";
import { attachBeginning, missingFrom } from "./beginning.js";
import { attachCorrecting } from "./correcting.js";
import { byId, fill, make } from "./dom.js";
import { attachEditor } from "./editor.js";
import { attachEvidence } from "./evidence.js";
import { OPEN_TABLE, TABLE, mistakeIn } from "./examples.js";
import { attachExport } from "./export.js";
import { attachFile, carriesFile } from "./file.js";
import { attachFolding } from "./folding.js";
import { passagesOf } from "./gates.js";
import { attachGrid } from "./grid.js";
import { attachJob } from "./job.js";
import { isAgain, keepAspects, keepMode, keptAspects, keptMode, keptView } from "./kept.js";
import { attachLink } from "./link.js";
import { latest } from "./live.js";
import { attachMarking } from "./marking.js";
import { attachMemory } from "./memory.js";
import { UNKNOWN, among, askForModel, describe } from "./model.js";
import { attachNotice } from "./notice.js";
import { EMPTY, fromFragment, makeStore } from "./state.js";
import { attachTabs } from "./tabs.js";
import { attachTargets } from "./targets.js";
import { shownTarget, wellFormed } from "./text.js";
import { attachTheme } from "./theme.js";
import { attachWalk } from "./walk.js";
import { attachWhy, reveal } from "./why.js";
import { attachWordings } from "./wordings.js";

/**
 * @typedef {import("./state.js").State} State
 * @typedef {import("./answer.js").Answer} Answer
 */

const DELAY = 200; // milliseconds without a key before the service is asked
const SAID_AFTER = 800; // before a screen reader is told of an answer

/** @type {import("./model.js").Model} */
let model = UNKNOWN;
/** @type {Answer | null} */
let answer = null;
/** @type {import("./correcting.js").Shown | null} the answer, and what was asked for it */
let shown = null;
let saying = 0;

/** @param {string} words @param {number} [after] */
function say(words, after = 0) {
  clearTimeout(saying);
  saying = setTimeout(() => (byId("status").textContent = words), after);
}

const store = makeStore(atFirst(), changed);
const notice = attachNotice(byId("problem"));
const scoreNotice = attachNotice(byId("score-problem"));
const link = attachLink({ button: byId("copy-link"), state: () => store.state, say });
const editor = attachEditor((text) => store.change({ text }));
const targets = attachTargets({ change: (now) => store.change({ targets: now }), say });
const aspects = attachAspects((now) => store.change({ aspects: now }));
const wordings = attachWordings({
  change: (now) => {
    keepAspects(now);
    store.change({ aspects: now });
  },
  say,
});
const folding = attachFolding();
const grid = attachGrid({ into: byId("opinions"), choose });
const evidence = attachEvidence({ question: () => ({ state: store.state, implied: implied() }), changed: showReading });
const correcting = attachCorrecting({
  shown: () => shown,
  cellAt: (cell) => grid.at(cell),
  marked: () => grid.correct((cell) => correcting.of(cell)?.polarity ?? null),
  say,
});
const memory = attachMemory({ change: (view) => store.change(view) });
const why = attachWhy({
  evidence,
  memory,
  mistake,
  correct: correcting.open,
  alias: (target) => {
    folding.open();
    targets.alias(target);
  },
  meant: () => store.change({ implied: model.implied ? null : true }),
  say,
});
const exporting = attachExport({
  shown: () => answer && { text: answer.text, model: model.name, opinions: answer.opinions, isRead },
  evidence: evidence.fetch,
  say,
});
const walk = attachWalk({
  show: ({ text, targets: asked, aspects: on }) => {
    const { aspects: before, implied: meant } = store.state;
    load({ ...EMPTY, text, targets: asked, aspects: on ?? before, implied: asked.length ? meant : true });
    tabs.open("text");
  },
  say,
});
const job = attachJob({
  problem: (problem) => scoreNotice.show(problem),
  say,
  open: (text, target, name, from, choices) => {
    if (from) return file.walk(from, choices, text);
    const { targets: asked } = store.state;
    const own = asked.length || !target ? asked : [{ name: target, aliases: [] }];
    walk.begin([{ text, targets: own, aspects: null }], name, text);
  },
  shown: () => byId("scoring").scrollIntoView({ block: "nearest" }),
});
const file = attachFile({
  state: () => store.state,
  implied,
  start: job.start,
  walk: walk.begin,
  suggest: (found) => {
    if (byId("main").dataset.mode !== "file") return;
    targets.suggest(
      found.map(({ name }) => name),
      new Map(found.map(({ name, texts }) => [name, texts])),
    );
  },
  problem: (problem) => scoreNotice.show(problem),
});
const tabs = attachTabs((mode) => {
  correcting.close();
  byId("results").hidden = mode !== "text";
  byId("scoring").hidden = mode !== "file";
  byId(mode === "text" ? "results" : "scoring").append(byId("corrections"));
  folding.mode(mode);
  keepMode(mode);
  if (mode === "file") file.suggest();
  else if (store.state.text.trim()) suggestions.ask();
  else targets.suggest([]);
  file.redraw();
  showReading();
});
const beginning = attachBeginning({ open: () => model.open_aspects, load });

const opinions = latest({
  delay: DELAY,
  run: (signal) => post("v1/predict", questionOf(store.state, implied()), signal),
  answered: (/** @type {any} */ given) => {
    notice.show(null);
    invalid(null);
    show(withNames(given));
  },
  failed: (problem) => {
    notice.show(problem, () => (model.name ? opinions.ask(0) : loadModel()));
    invalid(problem.field);
    if (problem.retry === null || !grid.shows()) nothing(); // what may pass by itself leaves the last answer in place
  },
  busy: (busy) => byId("results").setAttribute("aria-busy", String(busy)),
});

const suggestions = latest({
  delay: DELAY,
  run: (signal) => post("v1/suggest", { text: wellFormed(store.state.text) }, signal),
  answered: (/** @type {{targets: {name: string}[]}} */ given) => {
    if (byId("main").dataset.mode === "text") targets.suggest(given.targets.map(({ name }) => name));
  },
  failed: () => targets.suggest([]), // what matters is told with the opinions
});

/** @param {State} state @param {Partial<State>} patch */
function changed(state, patch) {
  if (patch.targets || "aspects" in patch) folding.tell(state.targets.length, (state.aspects ?? model.aspects).length);
  if (patch.targets) {
    targets.show(state.targets);
    file.redraw();
    if (state.cell && !state.targets.some(({ name }) => name === state.cell?.target))
      return store.change({ ...patch, cell: null });
  }
  if ("text" in patch) {
    byId("clear").hidden = !state.text;
    if (state.text.trim()) suggestions.ask();
    else {
      suggestions.stop();
      targets.suggest([]);
    }
  }
  if ("implied" in patch) {
    byId("implied").checked = implied();
    file.redraw();
  }
  if ("aspects" in patch && model.open_aspects) wordings.show(state.aspects);
  if ("text" in patch || patch.targets || "implied" in patch || "aspects" in patch) ask(state);
  else if (answer) {
    grid.mark(state.cell);
    showReading();
  }
  link.save();
}

/** Asks for opinions, or says what is missing. @param {State} state */
function ask(state) {
  const missing = missingFrom(state, { open: model.open_aspects, implied: implied() });
  if (!missing) return opinions.ask();
  opinions.stop();
  notice.show(null);
  invalid(null);
  nothing(make("p", { class: "hint" }, missing), !state.text.trim() && beginning.cards());
}

/** Whether a text that does not name a target is about it. */
function implied() {
  return store.state.implied ?? model.implied;
}

/** Shows something else in place of opinions. @param {import("./dom.js").Child[]} instead */
function nothing(...instead) {
  correcting.close();
  grid.clear();
  [answer, shown] = [null, null];
  editor.underline(store.state.text, []);
  fill(byId("opinions"), ...instead);
  showReading();
  correcting.draw();
  exporting.draw();
}

/** @param {Answer} given */
function show(given) {
  correcting.close();
  answer = given;
  editor.underline(given.text, given.mentions);
  const mentioned = new Set(given.mentions.map(({ target }) => target));
  const { text, opinions } = given;
  shown = { text, opinions, mentioned, targets: store.state.targets, implied: implied() };
  grid.show({ opinions, labels: model.labels, mentioned, implied: implied(), isRead, mistake });
  grid.mark(store.state.cell);
  grid.correct((cell) => correcting.of(cell)?.polarity ?? null);
  correcting.draw();
  exporting.draw();
  exporting.fresh();
  showReading();
  const found = opinions.filter(({ polarity }) => polarity !== "none");
  const told = found
    .slice(0, 6)
    .map(({ target, aspect, polarity }) => `${shownTarget(target)}, ${aspect}: ${polarity}`);
  const count = found.length === 1 ? "1 opinion" : `${found.length || "No"} opinions`;
  say([`${count} found`, ...told].join(". "), SAID_AFTER);
}

/** The first time shows why, the second asks what is right. @param {import("./state.js").Cell} cell */
function choose(cell) {
  const { cell: before } = store.state;
  if (before?.target === cell.target && before.aspect === cell.aspect) return correcting.open(cell);
  correcting.close();
  store.change({ cell });
  reveal(grid.at(cell));
}

/** Whether anything was read for a target. @param {string} target */
function isRead(target) {
  return !answer?.explanation || passagesOf(answer.explanation, target).length > 0;
}

/** What is right, where an example is known to be answered wrong. @param {import("./states.js").Opinion} opinion */
function mistake(opinion) {
  return answer && mistakeIn(answer.text, opinion);
}

function showReading() {
  byId("reading").hidden = !answer || byId("main").dataset.mode !== "text";
  if (answer) why.show(answer, store.state.cell, store.state);
}

/** Marks the field that the service did not like. @param {string | null} field */
function invalid(field) {
  const fields = { text: byId("text"), targets: byId("add-target"), aspects: wordings.field };
  for (const [name, element] of Object.entries(fields))
    element.setAttribute("aria-invalid", String(Boolean(field?.startsWith(name))));
}

/** What the page begins with: the view of its address, the one that this tab kept, or nothing but the aspects. */
function atFirst() {
  const given = location.hash.replace(/^#/, "") || keptView();
  return given ? fromFragment(given) : { ...EMPTY, aspects: keptAspects() };
}

/** Shows a state that was not typed: a link's, an example's. @param {State} state */
function load(state) {
  editor.show(state.text);
  targets.forget();
  wordings.forget();
  folding.loaded(state.targets.length > 0 || state.implied === true);
  if (state.direction !== EMPTY.direction || state.chain !== EMPTY.chain) memory.unfold();
  if (model.name) state = { ...state, aspects: among(model, state.aspects) };
  if (model.name && !model.open_aspects) aspects.show(model.aspects, state.aspects);
  answer = null;
  store.change(state);
}

async function loadModel() {
  try {
    const told = await askForModel();
    model = told.model;
    if (model.open_aspects) wordings.offer(model.aspects, model.aspect_lists);
    correcting.use(model, told.corrections);
    beginning.draw();
    byId("model").textContent = describe(model);
    notice.show(null);
    load(store.state);
  } catch (error) {
    notice.show(asProblem(error), loadModel);
  }
}

/** @param {string} alias @param {string} target */
function addAlias(alias, target) {
  const more = store.state.targets.map((one) =>
    one.name === target ? { ...one, aliases: [...one.aliases, alias] } : one,
  );
  store.change({ targets: more });
  say(`${alias} is another name of ${target}.`);
}

attachTheme(byId("theme"));
attachMarking({
  targets: () => store.state.targets,
  add: (name) => targets.add([{ name, aliases: [] }]),
  alias: addAlias,
});
beginning.draw();
byId("implied").addEventListener("change", () => {
  const { checked } = byId("implied");
  store.change({ implied: checked === model.implied ? null : checked });
});
byId("example-table").addEventListener("click", () => {
  const table = model.open_aspects ? OPEN_TABLE : TABLE;
  targets.add(table.targets);
  file.choose(new File([table.csv], table.name));
});
byId("clear").addEventListener("click", () => {
  load({ ...EMPTY, aspects: keptAspects() });
  byId("text").focus();
});
addEventListener("hashchange", () => load(fromFragment(location.hash)));
addEventListener("dragover", (event) => carriesFile(event) && event.preventDefault());
addEventListener("drop", (event) => {
  if (!carriesFile(event)) return;
  event.preventDefault();
  tabs.open("file");
  const [dropped] = event.dataTransfer?.files ?? [];
  if (dropped) file.choose(dropped);
});
load(store.state);
if (isAgain()) {
  if (keptMode() === "file") tabs.open("file");
  job.resume();
}
loadModel();
