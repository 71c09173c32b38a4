// A table to score: choosing it, what its columns are for, its progress, and what comes of it.

import { Problem, asProblem, call, isAbort, keyed, lines, post } from "./api.js";
import { button, byId, count, fill, make, save, select, unseen } from "./dom.js";
import { ofWhichUnsure } from "./polarity.js";
import { writeTarget } from "./text.js";

/**
 * @typedef {{columns: string[], rows: Record<string, string>[], note: string | null, text: string, id: string | null,
 *            target: string | null, date: string | null, targets: {name: string, texts: number}[]}} Table
 * @typedef {{text: string, id: string, target: string, date: string, result: string}} Choices
 * @typedef {{text: string, targets: string | null}} Row a text that was scored, and its cell of targets
 */

const HEAD = 256 * 1024; // bytes that are enough to know the columns
const MOST_TEXTS = 20_000; // that can be gone through one by one
const MOST_LISTED = 20; // rejected rows that are shown
const RESULTS = [
  ["wide csv", "CSV, a row for each text"],
  ["long csv", "CSV, a row for each opinion"],
  ["wide jsonl", "JSON Lines, one for each text"],
  ["long jsonl", "JSON Lines, one for each opinion"],
];
const SANDBOX = "allow-scripts allow-modals allow-downloads allow-popups";

/**
 * @param {{state: () => import("./state.js").State, implied: () => boolean, say: (words: string) => void,
 *          found: (names: {name: string, texts: number}[]) => void, walk: (rows: Row[], file: string) => void,
 *          problem: (problem: Problem | string | null) => void, fold: () => boolean}} what
 *   `found`: names that the texts have; `walk`: shows the texts one by one; `fold`: make room for the results
 */
export function attachFile({ state, implied, say, found, problem, walk, fold }) {
  const [input, options, results] = [byId("file"), byId("file-options"), byId("scored")];
  /** @type {{file: File, table: Table, choices: Choices} | null} */
  let chosen = null;
  let running = new AbortController();

  /** Look at a table. @param {File} file @param {string} [text] the column of the texts, where it was chosen */
  async function look(file, text) {
    const cut = !/\.xlsx$/i.test(file.name) && file.size > HEAD;
    const part = cut ? new File([file.slice(0, HEAD)], file.name) : file;
    /** @type {Table} */
    const table = await post("v1/columns", form({ text_column: text, cut: cut || null, file: part }));
    found(table.target ? [] : table.targets);
    return table;
  }

  /** @param {File} file */
  async function choose(file) {
    problem(null);
    chosen = null;
    fill(options);
    try {
      const table = await look(file);
      const { text, id, target, date } = table;
      const choices = { text, id: id ?? "", target: target ?? "", date: date ?? "", result: "wide csv" };
      chosen = { file, table, choices };
    } catch (error) {
      problem(asProblem(error));
    }
    draw();
  }

  function draw() {
    byId("score").hidden = !chosen || byId("main").dataset.mode !== "file";
    if (!chosen) return fill(options);
    const { file, table, choices } = chosen;
    /** @param {keyof Choices} name */
    const take = (name) => (/** @type {string} */ value) => {
      choices[name] = value;
      if (name === "text") look(file, value).catch((error) => problem(asProblem(error)));
      draw();
    };
    const named = table.columns.map((column) => [column, column]);
    const theirs = table.columns.map((column) => [column, `from column ${column}`]);
    const below = implied() && !state().targets.length ? "what each text is about" : "the targets below";
    const facts = `${size(file.size)}, ${count(table.columns.length, "column")}${table.note ? `, ${table.note}` : ""}`;
    const open = options.querySelector("details")?.open ?? true;
    const parts = make("details", { open },
      make("summary.file-name", make("strong", file.name), ` ${facts}`),
      preview(table, choices.text),
      make("div.picks",
        select("Text", named, choices.text, take("text")),
        select("Targets", [["", below], ...theirs], choices.target, take("target")),
        select("Id", [["", "none"], ...named], choices.id, take("id")),
        select("Date", [["", "none"], ...named], choices.date, take("date")),
        select("Result", RESULTS, choices.result, take("result")),
      ),
    );
    fill(options, parts);
  }

  async function score() {
    if (!chosen) return;
    byId("score").focus({ preventScroll: true }); // a phone leaves it in the form, which then would not fold
    const { file, choices } = chosen;
    const { targets, aspects } = state();
    if (!choices.target && !targets.length && !implied()) {
      byId("add-target").focus();
      return problem("Nobody to look for yet: add a target, or choose a column of targets.");
    }
    if (aspects && !aspects.length) return problem("No aspect is chosen: choose at least one.");
    problem(null);
    running.abort();
    const controller = (running = new AbortController());
    const progress = drawProgress(file.name, controller);
    const [layout, format] = choices.result.split(" ");
    const body = form({
      ...{ text_column: choices.text, id_column: choices.id, target_column: choices.target, layout, format },
      ...{ implied: implied(), probabilities: true, escape_formulas: true, events: true, aspect: aspects ?? [] },
      targets: choices.target ? [] : targets.map(writeTarget),
      file, // last, so that the service knows what is asked before it reads
    });
    try {
      const answer = await call("v1/score", { method: "POST", body, signal: controller.signal });
      const scored = await collect(answer, progress);
      const result = new File(scored.parts, `${file.name.replace(/\.\w+$/, "")}-scored.${format}`);
      drawScored({ ...scored, result, file, choices });
    } catch (error) {
      if (isAbort(error)) return;
      fill(results);
      problem(asProblem(error));
    }
  }

  /** @param {string} name @param {AbortController} controller */
  function drawProgress(name, controller) {
    const bar = make("progress", { id: "progress", max: 1, "aria-label": "Share of the file that is scored" });
    const note = make("p", { id: "progress-note" }, `Sending ${name}`);
    const stop = () => (controller.abort(), fill(results), say("Stopped."));
    fill(results, make("div.progress", bar, note, button("Stop", stop, { class: "button" })));
    say("Scoring has begun.");
    return ({ counts, share }) => {
      bar.value = share;
      note.textContent = countsOf(counts);
    };
  }

  /** @param {{counts: any, rejected: any[], texts: Row[], result: File, file: File, choices: Choices}} scored */
  function drawScored({ counts, rejected, texts, result, file, choices }) {
    const frame = make("iframe", { name: "report", title: `Report of ${file.name}`, sandbox: SANDBOX });
    const fields = {
      ...{ title: file.name, date_column: choices.date, text_column: choices.text, id_column: choices.id },
      target_column: choices.result.startsWith("wide") ? choices.target : "",
    };
    const ask = { action: "v1/report", method: "post", enctype: "multipart/form-data", hidden: true, rel: "noopener" };
    const report = make("form", ask, ...Object.entries(fields).map(([name, value]) => make("input", { name, value })));
    const carried = new DataTransfer();
    carried.items.add(result);
    report.append(Object.assign(make("input", { type: "file", name: "file" }), { files: carried.files }));
    /** @param {string} target */
    const open = (target) => {
      report.target = target;
      report.submit();
    };
    const download = async () => {
      try {
        const answer = await call("v1/report", { method: "POST", body: form({ ...fields, file: result }) });
        save(result.name.replace(/scored\.\w+$/, "report.html"), [await answer.blob()], "text/html");
      } catch (error) {
        problem(asProblem(error));
      }
    };
    const judged = counts.opinions > 0;
    const shows = judged && !keyed(); // a form cannot carry a key
    fill(
      results,
      make("p.done", make("strong", countsOf(counts)), ` in ${file.name}.`),
      make("p.actions",
        button("Download the results", () => save(result.name, [result], "text/plain"), { class: "primary" }),
        texts.length > 0 && button("Go through its texts", () => walk(texts, file.name), { class: "button" }),
        shows && button("Open the report", () => open("_blank"), { class: "button" }),
        judged && button("Download the report", download, { class: "button" }),
      ),
      rejected.length > 0 && rejects(rejected, counts.rejected),
      shows && frame,
      !judged && make("p.hint", "No text holds an opinion on any of the aspects, so there is no report."),
      report,
    );
    options.querySelector("details").open = !fold();
    if (shows) open("report");
    say(`${countsOf(counts)}. The results can be downloaded.`);
  }

  input.addEventListener("change", () => {
    if (input.files[0]) choose(input.files[0]);
    input.value = ""; // the same file may be chosen again after a change
  });
  byId("score").addEventListener("click", score);
  return { choose, draw };
}

/** What comes of a table, as it comes. @param {Response} answer @param {(event: any) => void} progress */
async function collect(answer, progress) {
  const [parts, texts, rejected] = [[], [], []];
  for await (const event of lines(answer)) {
    if (event.event === "error") throw new Problem(event.error.message);
    if (event.event === "end") return { parts, texts, rejected, counts: event.counts };
    if (event.event !== "rows") continue;
    parts.push(event.output);
    rejected.push(...event.rejected);
    texts.push(...event.texts.slice(0, MOST_TEXTS - texts.length));
    progress(event);
  }
  throw new Problem("The connection was lost before the whole table was scored.");
}

/** A form; what is null or empty is left out, a list is given one by one. @param {Record<string, any>} fields */
function form(fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields))
    for (const one of [value].flat()) if (one != null && one !== "") body.append(name, one);
  return body;
}

/** @param {{scored: number, rejected: number, opinions: number, unsure: number}} counts */
function countsOf({ scored, rejected, opinions, unsure }) {
  const more = rejected ? `, ${count(rejected, "row")} rejected` : "";
  return `${count(scored, "row")} scored${more}, ${count(opinions, "opinion")}${ofWhichUnsure(unsure)}`;
}

/** @param {{row: number, reason: string}[]} rejected @param {number} all */
function rejects(rejected, all) {
  const shown = rejected.slice(0, MOST_LISTED).map(({ row, reason }) => make("li", `Row ${row}: ${reason}`));
  const more = all - shown.length;
  return make("details.rejects",
    make("summary", `${count(all, "row")} could not be read`),
    make("ul", ...shown, more > 0 && make("li", `and ${more.toLocaleString("en")} more`)),
  );
}

/** @param {Table} table @param {string} text */
function preview({ columns, rows }, text) {
  const marked = (/** @type {string} */ column) => ({ class: column === text ? "chosen" : null });
  const head = columns.map((column) => make("th", { scope: "col", ...marked(column) }, column));
  const cells = (row) => columns.map((column) => make("td", { dir: "auto", ...marked(column) }, row[column] ?? ""));
  return make("div.preview", { tabindex: 0, role: "group", "aria-label": "The first rows" },
    make(
      "table",
      make("caption", unseen("The first rows of the table")),
      make("thead", make("tr", ...head)),
      make("tbody", ...rows.slice(0, 3).map((row) => make("tr", ...cells(row)))),
    ),
  );
}

/** @param {number} bytes */
function size(bytes) {
  const [unit, name] = bytes < 1e6 ? [1e3, "kB"] : [1e6, "MB"];
  return `${(bytes / unit).toLocaleString("en", { maximumFractionDigits: 1 })} ${name}`;
}

/** The texts of a file, one after the other: to see what the model says of each, and to say what is right.
 * @param {{show: (row: Row) => void, say: (words: string) => void}} what */
export function attachWalk({ show, say }) {
  const into = byId("walk");
  let [rows, file, place] = [[], "", 0];

  /** @param {number} to */
  function go(to) {
    place = Math.max(0, Math.min(to, rows.length - 1));
    draw();
    show(rows[place]);
    say(`Text ${place + 1} of ${rows.length}.`);
  }

  function end() {
    rows = [];
    draw();
    byId("text").focus();
  }

  function draw() {
    into.hidden = !rows.length;
    const step = (label, to) => {
      const more = { class: "quiet-button", "data-key": label, "aria-disabled": to < 0 || to >= rows.length };
      return button(label, () => go(to), more);
    };
    fill(
      into,
      step("Previous", place - 1),
      make("span", { id: "walk-place" }, `${place + 1} of ${rows.length} in ${file}`),
      step("Next", place + 1),
      button("×", end, { class: "quiet-button", "data-key": "end", "aria-label": "Leave the file" }),
    );
  }

  return {
    /** @param {Row[]} all each text once @param {string} name */
    begin(all, name) {
      rows = [...new Map(all.map((row) => [`${row.text}\n${row.targets}`, row])).values()];
      file = name;
      go(0);
    },
  };
}
