// The page: what is asked, what the service answers, and the parts that show both.

import { asProblem, get, post } from "./api.js";
import { attachAspects } from "./aspects.js";
import { button, byId, fill, make } from "./dom.js";
import { attachEditor } from "./editor.js";
import { EXAMPLES, OPEN_EXAMPLES, OPEN_TABLE, TABLE } from "./examples.js";
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
import { same, wellFormed } from "./text.js";
import { attachTheme } from "./theme.js";
import { attachWordings } from "./wordings.js";

/**
 * @typedef {import("./state.js").State} State
 * @typedef {import("./reading.js").Answer & {mentions: import("./editor.js").Mention[]}} Answer
 */

const DELAY = 200; // milliseconds without a key before the service is asked
const SAID_AFTER = 800; // before a screen reader is told of an answer

/** @type {string[]} the model's own aspects, once the service has told */
let known = [];
/** Whether an aspect may be any words. */
let open = false;
/** @type {Answer | null} */
let answer = null;
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
const job = attachJob({ problem: (problem) => scoreNotice.show(problem), say });
const file = attachFile({
  state: () => store.state,
  start: job.start,
  problem: (problem) => scoreNotice.show(problem),
});
const tabs = attachTabs((mode) => {
  byId("results").hidden = mode !== "text";
  byId("scoring").hidden = mode !== "file";
  file.redraw();
  showReading();
});

const opinions = latest({
  delay: DELAY,
  run: (signal) => {
    const { text, targets: asked, aspects: on } = store.state;
    const names = asked.map(({ name, aliases }) => (aliases.length ? { name, aliases } : name));
    return post("v1/predict", { text: wellFormed(text), targets: names, aspects: on, explain: true }, signal);
  },
  answered: (/** @type {Answer} */ given) => {
    notice.show(null);
    invalid(null);
    show(given);
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
  if ("aspects" in patch && open) wordings.show(state.aspects);
  if ("text" in patch || patch.targets || "aspects" in patch) ask(state);
  else if (answer) {
    grid?.mark(state.cell);
    showReading();
  }
  link.save();
}

/** Asks for opinions, or says what is missing. @param {State} state */
function ask(state) {
  const missing = missingFrom(state);
  if (!missing) return opinions.ask();
  opinions.stop();
  notice.show(null);
  invalid(null);
  nothing(make("p", { class: "hint" }, missing), !state.text.trim() && exampleCards());
}

/** Shows something else in place of opinions. @param {import("./dom.js").Child[]} instead */
function nothing(...instead) {
  [answer, grid] = [null, null];
  editor.underline(store.state.text, []);
  fill(byId("opinions"), ...instead);
  showReading();
}

/** Texts to start from, such as the model can be asked about. */
function examples() {
  return open ? OPEN_EXAMPLES : EXAMPLES;
}

function drawExamples() {
  const buttons = examples().map(({ label, state }) =>
    button(label, () => load({ ...EMPTY, ...state }), { class: "link-button" }),
  );
  fill(byId("examples"), make("span", {}, "Try"), ...buttons);
}

function exampleCards() {
  return make(
    "ul",
    { class: "cards" },
    ...examples().map(({ state }) =>
      make(
        "li",
        {},
        make(
          "button",
          { type: "button", class: "card", onclick: () => load({ ...EMPTY, ...state }) },
          make("span", {}, state.text),
        ),
      ),
    ),
  );
}

/** @param {State} state */
function missingFrom({ text, targets: asked, aspects: on }) {
  if (!text.trim())
    return "Write or paste a text, name who may be judged in it, and see who is judged, on what, and how.";
  if (!asked.length) return "Who may be judged? Take a suggestion, select a name in the text, or type one.";
  if (!on || on.length) return "";
  return open ? "On what? Add an aspect in your own words, or take a list." : "On what? Choose at least one aspect.";
}

/** @param {Answer} given */
function show(given) {
  answer = given;
  editor.underline(given.text, given.mentions);
  const mentioned = new Set(given.mentions.map(({ target }) => target));
  grid = drawGrid({ into: byId("opinions"), opinions: given.opinions, mentioned, choose });
  grid.mark(store.state.cell);
  showReading();
  const found = given.opinions.filter(({ polarity }) => polarity !== "none");
  const told = found.slice(0, 6).map(({ target, aspect, polarity }) => `${target}, ${aspect}: ${polarity}`);
  const count = found.length === 1 ? "1 opinion" : `${found.length || "No"} opinions`;
  say([`${count} found`, ...told].join(". "), SAID_AFTER);
}

/** @param {import("./state.js").Cell} cell */
function choose(cell) {
  store.change({ cell });
  say(reading.summary());
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const panel = byId("reading");
  if (panel.getBoundingClientRect().top > innerHeight * 0.75) {
    panel.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "nearest" });
  }
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
    const { models, default: chosen } = await get("v1/models");
    const model = models.find((/** @type {{name: string}} */ one) => one.name === chosen) ?? models[0];
    [known, open] = [model.aspects, model.open_aspects];
    if (open) wordings.offer(known, model.aspect_lists);
    drawExamples();
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
drawExamples();
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
