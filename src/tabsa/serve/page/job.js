// A table being scored: progress, and what comes of it.

import { asProblem, call, get, isAbort, keyed, Problem } from "./api.js";
import { button, byId, fill, make, redraw } from "./dom.js";
import { found } from "./found.js";
import { headText, kindOf, parse } from "./table.js";

/**
 * @typedef {{id: string, state: string, scored: number, rejected: number, share: number, error: string | null}} Job
 */

const FIRST_POLL = 150; // milliseconds
const POLL = 400;

/**
 * @param {{problem: (problem: Problem | string | null) => void, say: (words: string) => void,
 *          open: (text: string, file: File, choices: import("./file.js").Choices) => void}} what
 *   `open`: shows a text of the file on the first tab
 */
export function attachJob({ problem, say, open }) {
  const into = byId("job");
  /** @type {AbortController | null} */
  let running = null;
  /** @type {string | null} */
  let last = null;

  /**
   * @param {FormData} form
   * @param {File} file
   * @param {string[]} columns of the table that is sent
   * @param {import("./file.js").Choices} choices
   */
  async function start(form, file, columns, choices) {
    running?.abort();
    forget(last);
    const controller = (running = new AbortController());
    const { signal } = controller;
    const bar = /** @type {HTMLProgressElement} */ (
      make("progress", { id: "progress", max: 1, "aria-label": "Rows scored" })
    );
    const told = make("p", { id: "progress-told" }, `Sending ${file.name}`);
    redraw(
      into,
      make(
        "div",
        { class: "progress" },
        bar,
        told,
        button("Stop", () => stop(controller), { "data-key": "stop" }),
      ),
    );
    say("Scoring has begun.");
    try {
      const { id } = await (await call("v1/score?job=true", { method: "POST", body: form, signal })).json();
      last = id;
      const job = await finished(id, signal, (now) => {
        bar.value = now.share;
        told.textContent = counts(now);
      });
      if (job.state === "failed") throw new Problem(job.error ?? "The table could not be scored.");
      await done(job, file, choices, signal, columns);
    } catch (error) {
      if (isAbort(error)) return;
      idle();
      problem(asProblem(error));
    }
  }

  /** @param {AbortController} controller */
  function stop(controller) {
    controller.abort();
    forget(last);
    last = null;
    idle();
    say("Stopped.");
  }

  /**
   * @param {Job} job
   * @param {File} file
   * @param {import("./file.js").Choices} choices
   * @param {AbortSignal} signal
   * @param {string[]} columns
   */
  async function done(job, file, choices, signal, columns) {
    const { text, format } = choices;
    const stem = kindOf(file.name)?.stem ?? "table";
    const address = `v1/jobs/${encodeURIComponent(job.id)}`;
    const result = download("Download the results", `${address}/result`, `${stem}-scored.${format}`, problem);
    result.classList.add("primary");
    const rejects =
      job.rejected > 0 &&
      download(
        `Download ${rows(job.rejected)} that could not be read`,
        `${address}/rejects`,
        `${stem}-rejects.jsonl`,
        problem,
      );
    const shown = make("div");
    redraw(
      into,
      make("p", { class: "done" }, make("strong", {}, "Done. "), `${counts(job)}.`),
      make("p", { class: "downloads" }, result, rejects),
      shown,
    );
    say(`Done. ${counts(job)}.`);
    const response = await call(`${address}/result`, { signal });
    if (!response.body) return;
    const table = parse(await headText(response.body), format);
    fill(
      shown,
      found(table, columns, text, (words) => open(words, file, { ...choices })),
    );
  }

  function idle() {
    redraw(
      into,
      make(
        "p",
        { class: "hint" },
        "Choose a table, say which column holds the texts, and get it back with a polarity for every target and aspect.",
      ),
    );
  }

  idle();
  return { start };
}

/**
 * Asks how far a job is until it is over.
 * @param {string} id
 * @param {AbortSignal} signal
 * @param {(job: Job) => void} progress
 * @returns {Promise<Job>}
 */
async function finished(id, signal, progress) {
  let failures = 0;
  for (let wait = FIRST_POLL; ; wait = POLL * 2 ** failures) {
    await pause(wait, signal);
    try {
      const job = /** @type {Job} */ (await get(`v1/jobs/${encodeURIComponent(id)}`, { signal }));
      failures = 0;
      progress(job);
      if (job.state !== "running") return job;
    } catch (error) {
      // A busy service, or a network that is gone for a moment, does not end the job.
      if (!(error instanceof Problem) || error.retry === null || ++failures > 4) throw error;
    }
  }
}

/** The service drops old jobs by itself; this only spares it the wait. @param {string | null} id */
function forget(id) {
  if (id) call(`v1/jobs/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => {});
}

/** @param {number} milliseconds @param {AbortSignal} signal @returns {Promise<void>} */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stopped = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stopped);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", stopped, { once: true });
  });
}

/** @param {string} label @param {string} address @param {string} file @param {(problem: Problem) => void} problem */
function download(label, address, file, problem) {
  const link = /** @type {HTMLAnchorElement} */ (make("a", { class: "button", href: address, download: file }, label));
  link.addEventListener("click", async (event) => {
    if (!keyed()) return; // a plain link streams to the disk, but cannot carry a key
    event.preventDefault();
    try {
      const held = URL.createObjectURL(await (await call(address)).blob());
      make("a", { href: held, download: file }).click();
      setTimeout(() => URL.revokeObjectURL(held), 60_000);
    } catch (error) {
      problem(asProblem(error));
    }
  });
  return link;
}

/** @param {Job} job */
function counts({ scored, rejected }) {
  return `${rows(scored)} scored${rejected ? `, ${rows(rejected)} rejected` : ""}`;
}

/** @param {number} count */
function rows(count) {
  return `${count.toLocaleString("en")} row${count === 1 ? "" : "s"}`;
}
