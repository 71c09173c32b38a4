// What people say is right: kept in this browser, sent to the service where it has a file for it, and to be downloaded.

import { asProblem, post } from "./api.js";
import { bdi, button, byId, count, fill, make, save, store, stored } from "./dom.js";
import { sentence } from "./notice.js";
import { look, tag } from "./polarity.js";
import { sameCell } from "./state.js";
import { shownTarget } from "./text.js";

/**
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./polarity.js").Opinion} Opinion
 * @typedef {{text: string, target: string | null, aliases?: string[], aspect: string, polarity: string | null,
 *            said?: string, probability?: number, model?: string, time?: string}} Correction
 *   `polarity` null: taken back; `said`: the model's answer
 * @typedef {{text: string, opinions: Opinion[], mentioned: Set<string>, targets: import("./text.js").Target[],
 *            implied: boolean}} Shown
 */

const STORED = "tabsa-corrections";
const MOST_LISTED = 100;
const LONGEST_WAIT = 60; // seconds
const GAP = 6; // pixels between a cell and its menu, and between the menu and the window

/** @param {Correction} a @param {Correction} b */
const same = (a, b) => a.text === b.text && a.target === b.target && a.aspect === b.aspect;

/**
 * @param {{shown: () => Shown | null, changed: () => void, say: (words: string) => void}} what
 *   `shown`: the answers in the table; `changed`: its cells have to be drawn anew
 */
export function attachCorrections({ shown, changed, say }) {
  const menu = attachMenu();
  const into = byId("corrections");
  let model = { name: "", labels: [] };
  let file = null; // the name of the service's
  let trouble = "";
  let listed = false;
  let lasting = true; // whether this browser stores them
  let [timer, failures, sending] = [0, 0, false];
  /** @type {{made: Correction[], unsent: Correction[]}} */
  let memory = { made: [], unsent: [] };

  function read() {
    if (!lasting) return memory;
    const found = stored(localStorage, STORED);
    const fits = (one) => typeof one?.text === "string" && typeof one.aspect === "string";
    const list = (some) => (Array.isArray(some) ? some.filter(fits) : []);
    return { made: list(found?.made), unsent: list(found?.unsent) };
  }

  /** @param {Correction[]} made @param {Correction[]} unsent */
  function write(made, unsent) {
    memory = { made, unsent };
    lasting = store(localStorage, STORED, memory);
    changed();
    draw();
  }

  /** Put a correction in the place of an earlier one, or take that back. @param {Correction} correction */
  function put(correction) {
    const { made, unsent } = read();
    const others = made.filter((one) => !same(one, correction));
    const now = correction.polarity === null ? others : [...others, correction];
    write(now, file === null ? unsent : [...unsent, correction]);
    send();
  }

  async function send() {
    clearTimeout(timer);
    if (sending || file === null) return;
    sending = true;
    const done = () => write(read().made, read().unsent.slice(1));
    try {
      for (let [next] = read().unsent; next; [next] = read().unsent) {
        await post("v1/corrections", next);
        done();
        failures = 0;
      }
      trouble = "";
    } catch (error) {
      const problem = asProblem(error);
      if (problem.retry === null && problem.status !== 401) done(); // it would never be taken
      trouble = problem.message;
      const wait = Math.min((problem.retry ?? 5) * 2 ** failures++, LONGEST_WAIT);
      if (read().unsent.length) timer = setTimeout(send, wait * 1000);
    }
    sending = false;
    draw();
  }

  /** Whom a cell is about, as a correction has it; undefined where the text was not read for it. @param {Cell} cell */
  function subject({ target }) {
    const now = shown();
    if (now?.mentioned.has(target)) return target;
    return target === "" || now?.implied ? null : undefined;
  }

  /** @param {Cell} cell */
  function find(cell) {
    const wanted = { text: shown()?.text, target: subject(cell), aspect: cell.aspect };
    return wanted.target === undefined ? undefined : read().made.find((one) => same(one, wanted));
  }

  /** @param {Opinion} opinion @param {string} polarity */
  function choose({ target, aspect, polarity: said, probabilities }, polarity) {
    const about = subject({ target, aspect });
    const aliases = about === null ? [] : (shown().targets.find(({ name }) => name === target)?.aliases ?? []);
    put({
      text: shown().text,
      target: about,
      aliases: aliases.length ? aliases : undefined,
      aspect,
      polarity,
      said,
      probability: Number(probabilities[said].toFixed(4)),
      model: model.name || undefined,
      time: new Date().toISOString(),
    });
    const word = look(polarity).word;
    say(`${shownTarget(target)}, ${aspect}: ${polarity === said ? `${word} is right` : `corrected to ${word}`}.`);
  }

  /** @param {Correction} correction */
  function takeBack(correction) {
    put({ ...correction, polarity: null });
    say("Taken back.");
  }

  function clear() {
    if (!confirm(`Forget ${count(read().made.length, "correction")} in this browser?`)) return;
    write([], read().unsent);
    say("Cleared.");
  }

  function draw() {
    const { made, unsent } = read();
    into.hidden = !made.length && !shown();
    const here = lasting ? "stay in this browser" : "are lost with this page: download them";
    const where = `Corrections ${here}${file === null ? "" : `, and are added to ${file} on this server`}.`;
    const number = made.length ? `${count(made.length, "correction")}. ` : "Is an answer wrong? Choose it twice. ";
    const link = (label, act, more = {}) => button(label, act, { class: "link-button", "data-key": label, ...more });
    const toggle = () => ((listed = !listed), draw());
    fill(
      into,
      make("p", { id: "corrections-note" }, number, where),
      unsent.length > 0 && make("p", `${unsent.length} not sent yet.`),
      trouble && make("p.notice", sentence(trouble)),
      made.length > 0 &&
        make("p.actions",
          link("Download", () => save("corrections.jsonl", made.map(lineOf), "application/x-ndjson")),
          link("Undo", () => takeBack(made.at(-1))),
          link("Clear", clear),
          link(listed ? "Hide them" : "Show them", toggle, { "data-key": "list", "aria-expanded": String(listed) }),
        ),
      listed && made.length > 0 && list(made, takeBack),
    );
  }

  addEventListener("storage", (event) => event.key === STORED && (changed(), draw())); // another tab of the page

  return {
    draw,
    close: menu.close,
    /** What was said to be right of a cell. @param {Cell} cell @returns {string | null} */
    of: (cell) => find(cell)?.polarity ?? null,
    /** Ask what is right. @param {Cell} cell @param {HTMLElement} beside */
    open(cell, beside) {
      const opinion = shown()?.opinions.find((one) => sameCell(one, cell));
      if (!opinion || subject(cell) === undefined) return;
      const found = find(cell);
      menu.open(beside, {
        title: [make("strong", bdi(shownTarget(cell.target)), ", ", bdi(cell.aspect)), " What is right?"],
        labels: model.labels,
        answer: opinion.polarity,
        chosen: found?.polarity ?? null,
        choose: (label) => choose(opinion, label),
        takeBack: found ? () => takeBack(found) : null,
      });
    },
    /** The service has told of its model, and of its file of corrections. */
    use(now, name) {
      [model, file] = [now, name];
      if (name === null && read().unsent.length) write(read().made, []);
      send();
      draw();
    },
  };
}

/** A correction as a line of training data on this target and aspect alone. @param {Correction} correction */
function lineOf({ text, target, aliases, aspect, polarity, ...more }) {
  return `${JSON.stringify({ text, target, aliases, aspect, polarity, asked_only: true, ...more })}\n`;
}

/** @param {Correction[]} made @param {(correction: Correction) => void} takeBack */
function list(made, takeBack) {
  const last = made.slice(-MOST_LISTED).reverse();
  const lines = last.map((one) => {
    const who = shownTarget(one.target ?? "");
    const right = one.polarity === one.said ? "right as it is" : one.said && `not ${look(one.said).word}`;
    return make(
      "li",
      tag(one.polarity),
      make("strong", bdi(who), ", ", bdi(one.aspect)),
      right && make("small", right),
      button("×", () => takeBack(one), { class: "quiet-button", "aria-label": `Take back ${who}, ${one.aspect}` }),
      make("q", { dir: "auto" }, one.text),
    );
  });
  const more = made.length - last.length;
  return make("ul.corrected", ...lines, more > 0 && make("li", `and ${more} more`));
}

/** A menu beside a cell. Arrow keys move in it, Escape and a click elsewhere close it. */
function attachMenu() {
  const title = make("p.menu-title", { id: "menu-title" });
  const list = make("div", { role: "menu", "aria-labelledby": "menu-title", tabindex: -1, onkeydown: move });
  const box = make("div.menu", { id: "menu", popover: "auto" }, title, list);
  byId("main").append(box);

  /** @param {KeyboardEvent} event */
  function move(event) {
    const items = [...list.querySelectorAll("button")];
    const now = items.indexOf(document.activeElement);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Tab") return box.hidePopover(); // and the browser goes on from the cell
    if (next === undefined) return;
    event.preventDefault();
    items[next % items.length].focus();
  }

  addEventListener("scroll", () => box.hidePopover(), { passive: true });
  addEventListener("resize", () => box.hidePopover());

  return {
    close: () => box.hidePopover(),
    /**
     * @param {HTMLElement} anchor
     * @param {{title: Node[], labels: string[], answer: string, chosen: string | null, choose: (label: string) => void,
     *          takeBack: (() => void) | null}} offer `answer`: the model's; `chosen`: what was said to be right
     */
    open(anchor, { title: words, labels, answer, chosen, choose, takeBack }) {
      const item = (role, label, act, more = {}) =>
        button(label, () => (box.hidePopover(), act()), { role, tabindex: -1, class: "menu-item", ...more });
      const choices = labels.map((label) => {
        const { sign, word, tone } = look(label);
        const note = label === answer && make("small", "the model’s answer");
        const content = [make(`span.tag.${tone}`, { "aria-hidden": true }, sign), make("span", word), note];
        const checked = { "aria-checked": String(label === chosen), "data-label": label };
        return item("menuitemradio", content, () => choose(label), checked);
      });
      fill(title, ...words);
      fill(list, ...choices, takeBack && item("menuitem", "Take it back", takeBack, { "data-label": "back" }));
      anchor.focus({ preventScroll: true }); // it has the focus again when the menu closes
      box.showPopover();
      const at = anchor.getBoundingClientRect();
      const { clientWidth, clientHeight } = document.documentElement;
      const below = at.bottom + GAP + box.offsetHeight <= clientHeight || at.top < box.offsetHeight + GAP;
      box.style.top = `${Math.max(GAP, below ? at.bottom + GAP : at.top - GAP - box.offsetHeight)}px`;
      box.style.left = `${Math.max(GAP, Math.min(at.left, clientWidth - box.offsetWidth - GAP))}px`;
      (choices.find((one) => one.dataset.label === (chosen ?? answer)) ?? choices[0]).focus({ preventScroll: true });
    },
  };
}
