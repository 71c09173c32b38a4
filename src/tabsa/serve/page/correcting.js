// Correcting the model: a menu at each cell, a line that counts the corrections, and a list of them.

import { button, byId, make, name, redraw } from "./dom.js";
import { look } from "./states.js";
import { attachMenu } from "./menu.js";
import { lineOf, makeCorrections, same } from "./corrections.js";
import { sentence } from "./notice.js";
import { shownTarget } from "./text.js";

/**
 * @typedef {import("./corrections.js").Correction} Correction
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {import("./states.js").Opinion} Opinion
 * @typedef {import("./text.js").Target} Target
 * @typedef {{name: string, labels: string[]}} Model
 * @typedef {{text: string, opinions: Opinion[], mentioned: Set<string>, targets: Target[], implied: boolean}} Shown
 *   what the table shows: an answer, and what was asked for it
 */

const MOST_LISTED = 100;
const DIGITS = 10_000; // of a probability that are kept

/**
 * @param {{shown: () => Shown | null, cellAt: (cell: Cell) => HTMLElement | null, marked: () => void,
 *          say: (words: string) => void}} what `marked`: cells have to be marked anew
 */
export function attachCorrecting({ shown, cellAt, marked, say }) {
  const menu = attachMenu();
  /** @type {Model} */
  let model = { name: "", labels: [] };
  let trouble = "";
  let listed = false;
  const corrections = makeCorrections({
    changed: () => {
      marked();
      draw();
    },
    problem: (message) => {
      trouble = message;
      draw();
    },
  });

  /** Whom a cell is about, as a correction has it; undefined where nobody was asked about. @param {Cell} cell */
  function subject({ target }) {
    const now = shown();
    if (now?.mentioned.has(target)) return target;
    return target === "" || now?.implied ? null : undefined;
  }

  /** What was said to be right of a cell. @param {Cell} cell */
  function of(cell) {
    const [target, text] = [subject(cell), shown()?.text];
    if (target === undefined || text === undefined) return undefined;
    const wanted = { text, target, aspect: cell.aspect, polarity: null };
    return corrections.all().find((one) => same(one, wanted));
  }

  /** @param {Opinion} opinion @param {string} polarity */
  function choose({ target, aspect, polarity: said, probabilities }, polarity) {
    const now = shown();
    const about = subject({ target, aspect });
    if (!now || about === undefined) return;
    const aliases = about === null ? [] : (now.targets.find((one) => one.name === target)?.aliases ?? []);
    corrections.put({
      text: now.text,
      target: about,
      aliases: aliases.length ? aliases : undefined,
      aspect,
      polarity,
      said,
      probability: Math.round(probabilities[said] * DIGITS) / DIGITS,
      model: model.name || undefined,
      time: new Date().toISOString(),
    });
    const word = look(polarity).word;
    say(`${shownTarget(target)}, ${aspect}: ${polarity === said ? `${word} is right` : `corrected to ${word}`}.`);
  }

  /** @param {Cell} cell @param {() => HTMLElement | null} [beside] where the menu goes, if not to the cell */
  function open(cell, beside = () => cellAt(cell)) {
    const opinion = shown()?.opinions.find((one) => one.target === cell.target && one.aspect === cell.aspect);
    const at = beside();
    if (!opinion || !at) return;
    if (menu.openAt(at)) return menu.close();
    const corrected = of(cell);
    const named = subject(cell) !== undefined;
    menu.open(beside, {
      title: [
        make("strong", {}, name(shownTarget(cell.target)), ", ", name(cell.aspect)),
        named ? " What is right?" : "",
      ],
      note: named
        ? ""
        : "The text does not name it, so nothing was asked. Add another name of it, or say that it is meant.",
      labels: named ? model.labels : [],
      said: opinion.polarity,
      chosen: corrected?.polarity ?? null,
      choose: (label) => choose(opinion, label),
      more: [...(corrected ? [{ label: "Take it back", act: () => takeBack(corrected) }] : [])],
    });
  }

  /** @param {Correction} correction */
  function takeBack(correction) {
    corrections.takeBack(correction);
    say("Taken back.");
  }

  /** @param {"Corrections" | "They" | "It"} they */
  function where(they) {
    const [stay, are, them] = they === "It" ? ["stays", "is", "it"] : ["stay", "are", "them"];
    const file = corrections.file();
    const here = corrections.lasting() ? `${stay} in this browser` : `${are} lost with this page: download ${them}`;
    return `${they} ${here}${file === null ? "" : `, and ${are} added to ${file} on this server`}.`;
  }

  function draw() {
    const all = corrections.all();
    const waiting = corrections.waiting();
    byId("corrections").hidden = !all.length && !shown() && !corrections.undoable();
    const count = all.length === 1 ? "1 correction" : `${all.length} corrections`;
    const told = all.length
      ? `${count}. ${where(all.length === 1 ? "It" : "They")}`
      : `Is an answer wrong? Choose its cell twice to say what is right. ${where("Corrections")}`;
    redraw(
      byId("corrections"),
      make("p", { id: "corrections-told" }, told),
      waiting > 0 && make("p", {}, `${waiting === 1 ? "1 is" : `${waiting} are`} not sent yet.`),
      trouble && make("p", { class: "notice" }, sentence(trouble)),
      make(
        "p",
        { class: "actions" },
        all.length > 0 && button("Download", download, { class: "link-button", "data-key": "download" }),
        corrections.undoable() &&
          button("Undo", () => (corrections.undo(), say("Undone.")), { class: "link-button", "data-key": "undo" }),
        all.length > 0 &&
          button("Clear", () => (corrections.clear(), say("Cleared.")), { class: "link-button", "data-key": "clear" }),
        all.length > 0 &&
          button(listed ? "Hide them" : "Show them", () => ((listed = !listed), draw()), {
            class: "link-button",
            "data-key": "list",
            "aria-expanded": String(listed),
          }),
      ),
      listed && all.length > 0 && list(all, takeBack),
    );
  }

  function download() {
    const lines = corrections.all().map((one) => `${lineOf(one)}\n`);
    const held = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    make("a", { href: held, download: "corrections.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(held), 60_000);
  }

  return {
    open,
    of,
    draw,
    /** The cells are about to be drawn again, or to go. */
    close: () => menu.close(),
    /** The service has told of its model, and of its file of corrections. @param {Model} now @param {string | null} file */
    use(now, file) {
      model = now;
      corrections.sendTo(file);
      draw();
    },
  };
}

/** @param {Correction[]} all @param {(correction: Correction) => void} takeBack */
function list(all, takeBack) {
  const latest = all.slice(-MOST_LISTED).reverse();
  const lines = latest.map((one) => {
    const { sign, word, tone } = look(one.polarity ?? "");
    const right = one.polarity === one.said ? "right as it is" : one.said && `not ${look(one.said).word}`;
    return make(
      "li",
      {},
      make("span", { class: `tag ${tone}` }, make("span", { "aria-hidden": true }, `${sign} `), word),
      make("strong", {}, name(shownTarget(one.target ?? "")), ", ", name(one.aspect)),
      right && make("small", {}, right),
      button("×", () => takeBack(one), { "aria-label": `Take back ${shownTarget(one.target ?? "")}, ${one.aspect}` }),
      make("q", { dir: "auto" }, one.text),
    );
  });
  const rest = all.length - latest.length;
  return make("ul", { class: "corrected" }, ...lines, rest > 0 && make("li", {}, `and ${rest} more`));
}
