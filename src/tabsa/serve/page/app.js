// The page: what is asked, what the service answers, and the parts that show both.

import { questionOf, withNames } from "./answer.js";
import { asProblem, get, post } from "./api.js";
import { attachAspects } from "./aspects.js";
import { attachBeginning, missingFrom } from "./beginning.js";
import { attachCorrecting } from "./correcting.js";
import { byId, fill, make } from "./dom.js";
import { attachEditor } from "./editor.js";
import { OPEN_TABLE, TABLE } from "./examples.js";
import { attachFile, carriesFile } from "./file.js";
import { drawGrid } from "./grid.js";
import { attachJob } from "./job.js";
import { attachLink } from "./link.js";
import { latest } from "./live.js";
import { attachMarking } from "./marking.js";
import { attachNotice } from "./notice.js";
import { attachReading } from "./reading.js";
import { EMPTY, fromFragment, makeStore } from "./state.js";
import { attachTabs } from "./tabs.js";
import { attachTargets } from "./targets.js";
import { same, shownTarget, wellFormed } from "./text.js";
import { attachTheme } from "./theme.js";
import { attachWalk } from "./walk.js";
import { attachWordings } from "./wordings.js";

/**
 * @typedef {import("./state.js").State} State
 * @typedef {import("./answer.js").Answer} Answer
 */

const DELAY = 200; // milliseconds without a key before the service is asked
const SAID_AFTER = 800; // before a screen reader is told of an answer

/** @type {string[]} the model's own aspects, once the service has told */
let known = [];
/** Whether an aspect may be any words. */
let open = false;
/** Whether the model was trained on texts that do not name what they are about. */
let impliedByModel = false;
/** @type {Answer | null} */
let answer = null;
/** @type {import("./correcting.js").Shown | null} the answer, and what was asked for it */
let shown = null;
/** @type {ReturnType<typeof drawGrid> | null} */
let grid = null;
let saying = 0;

/** @param {string} words @param {number} [after] */
function say(words, after = 0) {
  clearTimeout(saying);
  saying = setTimeout(() => (byId("status").textContent = words), after);
}

const store = makeStore(fromFragment(location.hash), changed);
const notice = attachNotice(byId("problem"));
const scoreNotice = attachNotice(byId("score-problem"));
const link = attachLink({ button: byId("copy-link"), state: () => store.state, say });
const editor = attachEditor((text) => store.change({ text }));
const targets = attachTargets({ change: (now) => store.change({ targets: now }), say });
const aspects = attachAspects((now) => store.change({ aspects: now }));
const wordings = attachWordings({ change: (now) => store.change({ aspects: now }), say });
const reading = attachReading({ change: (view) => store.change(view) });
const correcting = attachCorrecting({
  shown: () => shown,
  cellAt: (cell) => grid?.at(cell) ?? null,
  marked: () => grid?.correct((cell) => correcting.of(cell)?.polarity ?? null),
  why: () => byId("reading").scrollIntoView({ behavior: still() ? "auto" : "smooth", block: "nearest" }),
  whyIsFar: () => byId("reading").getBoundingClientRect().top > innerHeight * 0.75,
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
  open: (text, from, choices) => file.walk(from, choices, text),
});
const file = attachFile({
  state: () => store.state,
  implied,
  start: job.start,
  walk: walk.begin,
  problem: (problem) => scoreNotice.show(problem),
});
const tabs = attachTabs((mode) => {
  correcting.close();
  byId("results").hidden = mode !== "text";
  byId("scoring").hidden = mode !== "file";
  byId(mode === "text" ? "results" : "scoring").append(byId("corrections"));
  file.redraw();
  showReading();
});
const beginning = attachBeginning({ open: () => open, load });

const opinions = latest({
  delay: DELAY,
  run: (signal) => post("v1/predict", questionOf(store.state, implied()), signal),
  answered: (/** @type {any} */ given) => {
    notice.show(null);
    invalid(null);
    show(withNames(given));
  },
  failed: (problem) => {
    notice.show(problem, () => (known.length ? opinions.ask(0) : loadModel()));
    invalid(problem.field);
    if (problem.retry === null || !grid) nothing(); // what may pass by itself leaves the last answer in place
  },
  busy: (busy) => byId("results").setAttribute("aria-busy", String(busy)),
});

const suggestions = latest({
  delay: DELAY,
  run: (signal) => post("v1/suggest", { text: wellFormed(store.state.text) }, signal),
  answered: (/** @type {{targets: {name: string}[]}} */ given) =>
    targets.suggest(given.targets.map(({ name }) => name)),
  failed: () => targets.suggest([]), // what matters is told with the opinions
});

/** @param {State} state @param {Partial<State>} patch */
function changed(state, patch) {
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
  if ("aspects" in patch && open) wordings.show(state.aspects);
  if ("text" in patch || patch.targets || "implied" in patch || "aspects" in patch) ask(state);
  else if (answer) {
    grid?.mark(state.cell);
    showReading();
  }
  link.save();
}

/** Asks for opinions, or says what is missing. @param {State} state */
function ask(state) {
  const missing = missingFrom(state, { open, implied: implied() });
  if (!missing) return opinions.ask();
  opinions.stop();
  notice.show(null);
  invalid(null);
  nothing(make("p", { class: "hint" }, missing), !state.text.trim() && beginning.cards());
}

/** Whether a text that does not name a target is about it. */
function implied() {
  return store.state.implied ?? impliedByModel;
}

/** Shows something else in place of opinions. @param {import("./dom.js").Child[]} instead */
function nothing(...instead) {
  correcting.close();
  [answer, grid, shown] = [null, null, null];
  editor.underline(store.state.text, []);
  fill(byId("opinions"), ...instead);
  showReading();
  correcting.draw();
}

/** @param {Answer} given */
function show(given) {
  correcting.close();
  answer = given;
  editor.underline(given.text, given.mentions);
  const mentioned = new Set(given.mentions.map(({ target }) => target));
  const { text, opinions } = given;
  shown = { text, opinions, mentioned, targets: store.state.targets, implied: implied() };
  grid = drawGrid({ into: byId("opinions"), opinions, mentioned, implied: implied(), choose });
  grid.mark(store.state.cell);
  grid.correct((cell) => correcting.of(cell)?.polarity ?? null);
  correcting.draw();
  showReading();
  const found = opinions.filter(({ polarity }) => polarity !== "none");
  const told = found
    .slice(0, 6)
    .map(({ target, aspect, polarity }) => `${shownTarget(target)}, ${aspect}: ${polarity}`);
  const count = found.length === 1 ? "1 opinion" : `${found.length || "No"} opinions`;
  say([`${count} found`, ...told].join(". "), SAID_AFTER);
}

/** @param {import("./state.js").Cell} cell */
function choose(cell) {
  store.change({ cell });
  say(reading.summary());
  correcting.open(cell);
}

function still() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function showReading() {
  byId("reading").hidden = !answer || byId("main").dataset.mode !== "text";
  if (answer) reading.show(answer, store.state.cell, store.state);
}

/** Marks the field that the service did not like. @param {string | null} field */
function invalid(field) {
  const fields = { text: byId("text"), targets: byId("add-target"), aspects: wordings.field };
  for (const [name, element] of Object.entries(fields))
    element.setAttribute("aria-invalid", String(Boolean(field?.startsWith(name))));
}

/** Shows a state that was not typed: a link's, an example's. @param {State} state */
function load(state) {
  editor.show(state.text);
  if (known.length) state = { ...state, aspects: among(state.aspects) };
  if (known.length && !open) aspects.show(known, state.aspects);
  answer = null;
  store.change(state);
}

/** The aspects that this model can be asked; null where those are its own. @param {string[] | null} asked */
function among(asked) {
  if (open) return asked && same(asked, known) ? null : asked;
  const some = asked && known.filter((aspect) => asked.includes(aspect));
  return some && (some.length === known.length || (asked.length && !some.length)) ? null : some;
}

async function loadModel() {
  try {
    const { models, default: chosen, corrections } = await get("v1/models");
    const model = models.find((/** @type {{name: string}} */ one) => one.name === chosen) ?? models[0];
    [known, open, impliedByModel] = [model.aspects, model.open_aspects, model.implied];
    if (open) wordings.offer(known, model.aspect_lists);
    correcting.use(model, corrections);
    beginning.draw();
    const chains = model.chains ? `, ${model.chains} memory chain${model.chains === 1 ? "" : "s"}` : "";
    const kind = model.kind === model.name && !chains ? "" : ` (${model.kind}${chains})`;
    byId("model").textContent = `Model: ${model.name}${kind}, ${open ? "any aspects" : `${known.length} aspects`}.`;
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
  store.change({ implied: checked === impliedByModel ? null : checked });
});
byId("example-table").addEventListener("click", () => {
  const table = open ? OPEN_TABLE : TABLE;
  targets.add(table.targets);
  file.choose(new File([table.csv], table.name));
});
byId("clear").addEventListener("click", () => {
  load(EMPTY);
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
loadModel();
