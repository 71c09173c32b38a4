// A table to score: choosing it, and what its columns are for.

import { asProblem, call, isAbort, post } from "./api.js";
import { button, byId, fill, make, radios, redraw, unseen } from "./dom.js";
import { checkName, columnCalled, dateColumn, headOf, textColumn, wholeOf } from "./table.js";
import { wellFormed, writeTarget } from "./text.js";
import { itemsOf } from "./walk.js";

/**
 * @typedef {import("./state.js").State} State
 * @typedef {import("./table.js").Table} Table
 * @typedef {{text: string, id: string, target: string, date: string, layout: string, format: string}} Choices
 * @typedef {{name: string, texts: number}} Found a name in the texts, and how many have it
 */

const PREVIEWED = 3;
const MOST_TEXTS = 256; // that are looked through for names
const MOST_CHARACTERS = 200_000; // of all of them; a long text counts with its beginning
const LONGEST = 2000;

/**
 * @param {{state: () => State, implied: () => boolean,
 *          start: (form: FormData, file: File, columns: string[], choices: Choices) => void,
 *          walk: (items: import("./walk.js").Item[], file: string, first?: string) => void,
 *          suggest: (found: Found[]) => void,
 *          problem: (problem: import("./api.js").Problem | string | null) => void}} what
 *   `suggest`: offers names that the texts have, as targets
 */
export function attachFile({ state, implied, start, walk, suggest, problem }) {
  const input = byId("file");
  const drop = byId("drop");
  const into = byId("file-options");
  /** @type {{file: File, name: string, table: Table, choices: Choices} | null} `name`: as the user knows the file */
  let chosen = null;
  /** @type {Found[]} */
  let found = [];
  /** @type {AbortController | null} */
  let looking = null;

  /** @param {File} given */
  async function choose(given) {
    looking?.abort();
    const { signal } = (looking = new AbortController());
    problem(null);
    [chosen, found] = [null, []];
    try {
      const file = checkName(given.name).kind === "xlsx" ? await asCsv(given, signal) : given;
      const table = await headOf(file);
      if (signal.aborted) return;
      const choices = { ...guessed(table), layout: "wide", format: "csv" };
      chosen = { file, name: given.name, table, choices };
      look(signal);
    } catch (error) {
      if (isAbort(error)) return;
      problem(error instanceof Error ? error.message : String(error));
    }
    suggest(found);
    draw();
  }

  /** Asks which names the first texts have. @param {AbortSignal} signal */
  async function look(signal) {
    if (!chosen) return;
    const { table, choices } = chosen;
    let left = MOST_CHARACTERS;
    const texts = table.rows
      .map((row) => wellFormed((row[choices.text] ?? "").slice(0, LONGEST)))
      .filter((text) => text.trim() && (left -= text.length) > 0)
      .slice(0, MOST_TEXTS);
    if (!texts.length || choices.target) return;
    try {
      found = (await post("v1/suggest", { texts }, signal)).targets;
      suggest(found);
    } catch {
      // Names can be typed, too.
    }
  }

  function draw() {
    byId("score").hidden = !chosen || byId("main").dataset.mode !== "file";
    if (!chosen) return fill(into);
    const { file, name, table, choices } = chosen;
    /** @param {Partial<Choices>} patch */
    const change = (patch) => {
      Object.assign(choices, patch);
      if ("text" in patch && looking) look(looking.signal);
      draw();
    };
    const { targets } = state();
    const count = `${table.columns.length} column${table.columns.length === 1 ? "" : "s"}`;
    redraw(
      into,
      make("p", { class: "file-name" }, make("strong", {}, name), ` ${size(file.size)}, ${count}`),
      table.note && make("p", { class: "note file-note" }, table.note),
      preview(table, choices.text),
      columnPicks(table, choices, targets.length, change, implied()),
      make(
        "p",
        { class: "one-by-one" },
        button("Go through its texts one by one", () => through(file, choices), {
          class: "link-button",
          "data-key": "walk",
        }),
      ),
      make("div", { class: "controls" }, ...layoutPicks(choices, change)),
    );
  }

  /**
   * Shows the texts of a file on the first tab, to be looked at and corrected.
   * @param {File} file
   * @param {Choices} choices
   * @param {string} [first] the text to begin with
   */
  async function through(file, choices, first) {
    try {
      const items = itemsOf((await wholeOf(file)).rows, choices, state().targets);
      problem(items.length ? null : `The file ${file.name} has no texts in the column ${choices.text}.`);
      if (items.length) walk(items, file.name, first);
    } catch (error) {
      problem(error instanceof Error ? error.message : String(error));
    }
  }

  function submit() {
    if (!chosen) return;
    const { file, table, choices } = chosen;
    const { targets, aspects } = state();
    if (!choices.target && !targets.length && !implied()) {
      problem("Nobody to look for yet: add a target, or choose a column of targets.");
      byId("add-target").focus();
      return;
    }
    if (aspects && !aspects.length) return problem("No aspect is chosen: choose at least one.");
    problem(null);
    const form = new FormData();
    form.append("text_column", choices.text);
    if (choices.id) form.append("id_column", choices.id);
    if (choices.date) form.append("date_column", choices.date);
    if (choices.target) form.append("target_column", choices.target);
    else targets.forEach((target) => form.append("targets", writeTarget(target)));
    form.append("implied", String(implied()));
    aspects?.forEach((aspect) => form.append("aspect", aspect));
    form.append("layout", choices.layout);
    form.append("format", choices.format);
    form.append("escape_formulas", "true");
    form.append("file", file); // last, so that the service knows what is asked before it reads
    start(form, file, table.columns, { ...choices });
  }

  input.addEventListener("change", () => {
    if (input.files[0]) choose(input.files[0]);
    input.value = ""; // the same file may be chosen again after a change
  });
  byId("score").addEventListener("click", submit);
  for (const kind of ["dragover", "dragleave", "drop"]) {
    addEventListener(kind, (event) => drop.classList.toggle("over", kind === "dragover" && carriesFile(event)));
  }
  return {
    choose,
    redraw: draw,
    walk: through,
    /** Offers the names that were found in the file that is chosen. */
    suggest: () => suggest(found),
  };
}

/** What the columns are for, by their names and by what they hold. @param {Table} table */
function guessed(table) {
  const text = textColumn(table);
  const date = dateColumn(table);
  const id = columnCalled(table, "id", "review_id", "comment_id", "nr", "no");
  const target = columnCalled(table, "target", "targets");
  return { text, id: id === text ? "" : id, target, date: date === text ? "" : date };
}

/** The first sheet of a workbook, which only the service can read. @param {File} file @param {AbortSignal} signal */
async function asCsv(file, signal) {
  const form = new FormData();
  form.append("file", file);
  try {
    const sheet = await (await call("v1/csv", { method: "POST", body: form, signal })).blob();
    return new File([sheet], file.name.replace(/\.xlsx$/i, ".csv"));
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Error(asProblem(error).message.replace(/^the file\b/, `The file ${file.name}`));
  }
}

/** @param {Event} event */
export function carriesFile(event) {
  return event instanceof DragEvent && Boolean(event.dataTransfer?.types.includes("Files"));
}

/**
 * @param {Table} table
 * @param {Choices} choices
 * @param {number} targets how many
 * @param {(patch: Partial<Choices>) => void} change
 * @param {boolean} implied
 */
function columnPicks({ columns }, choices, targets, change, implied) {
  const named = columns.map((column) => ({ value: column, label: column }));
  const below = `the ${targets || "chosen"} target${targets === 1 ? "" : "s"} below`;
  const own = { value: "", label: implied && !targets ? "what each text is about" : below };
  const theirs = columns.map((column) => ({ value: column, label: `from column ${column}` }));
  return make(
    "div",
    { class: "picks" },
    pick("Text", named, choices.text, (text) => change({ text })),
    pick("Id", [{ value: "", label: "none" }, ...named], choices.id, (id) => change({ id })),
    pick("Targets", [own, ...theirs], choices.target, (target) => change({ target })),
    pick("Date", [{ value: "", label: "none" }, ...named], choices.date, (date) => change({ date })),
  );
}

/** @param {Choices} choices @param {(patch: Partial<Choices>) => void} change */
function layoutPicks(choices, change) {
  const layouts = [
    { value: "wide", label: "wide", hint: "the table with a column for each target and aspect" },
    { value: "long", label: "long", hint: "a row for each opinion" },
  ];
  const formats = [
    { value: "csv", label: "CSV" },
    { value: "jsonl", label: "JSON Lines" },
  ];
  const { layout, format } = choices;
  return [
    radios({
      legend: "Layout",
      group: "layout",
      options: layouts,
      chosen: layout,
      choose: (layout) => change({ layout }),
    }),
    radios({
      legend: "Format",
      group: "format",
      options: formats,
      chosen: format,
      choose: (format) => change({ format }),
    }),
  ];
}

/**
 * @param {string} label
 * @param {{value: string, label: string}[]} options
 * @param {string} chosen
 * @param {(value: string) => void} change
 */
function pick(label, options, chosen, change) {
  const select = /** @type {HTMLSelectElement} */ (
    make(
      "select",
      { "data-key": label },
      ...options.map((one) => make("option", { value: one.value, selected: one.value === chosen }, one.label)),
    )
  );
  select.addEventListener("change", () => change(select.value));
  return make("label", { class: "pick" }, make("span", {}, label), select);
}

/** @param {Table} table @param {string} text */
function preview({ columns, rows }, text) {
  /** @param {string} column */
  const look = (column) => ({ class: column === text ? "chosen" : undefined });
  const head = make("tr", {}, ...columns.map((column) => make("th", { scope: "col", ...look(column) }, column)));
  const lines = rows
    .slice(0, PREVIEWED)
    .map((row) =>
      make("tr", {}, ...columns.map((column) => make("td", { dir: "auto", ...look(column) }, row[column] ?? ""))),
    );
  return make(
    "div",
    { class: "preview", tabindex: 0, role: "group", "aria-label": "The first rows" },
    make(
      "table",
      {},
      make("caption", {}, unseen("The first rows of the table")),
      make("thead", {}, head),
      make("tbody", {}, ...lines),
    ),
  );
}

/** @param {number} bytes */
function size(bytes) {
  const [unit, name] = bytes < 1e6 ? [1e3, "kB"] : bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  return `${(bytes / unit).toLocaleString("en", { maximumFractionDigits: 1 })} ${name}`;
}
