// A table being scored: progress, and what comes of it. The job outlives a reload of the page.

import { asProblem, call, get, isAbort, Problem } from "./api.js";
import { attachBehind } from "./behind.js";
import { button, byId, make, redraw } from "./dom.js";
import { downloads } from "./downloads.js";
import { keepJob, keptJob } from "./kept.js";
import { rowsCount, summary } from "./summary.js";
import { kindOf } from "./table.js";

/**
 * @typedef {{id: string, state: string, scored: number, rejected: number, share: number, note: string | null,
 *            summary: boolean, no_summary: string | null, error: string | null}} Job
 * @typedef {import("./file.js").Choices} Choices
 * @typedef {{id: string, name: string, choices: Choices}} Kept
 */

const FIRST_POLL = 150; // milliseconds
const POLL = 400;

/**
 * @param {{problem: (problem: Problem | string | null) => void, say: (words: string) => void,
 *          open: (text: string, target: string | null, name: string, file: File | null, choices: Choices) => void,
 *          shown: () => void}} what
 *   `open`: shows a text of the file on the first tab; `shown`: the results are there
 */
export function attachJob({ problem, say, open, shown }) {
  const into = byId("job");
  /** @type {AbortController | null} */
  let running = null;
  /** @type {string | null} */
  let last = null;
  const behind = attachBehind({ into, problem, say });

  /**
   * @param {FormData} form
   * @param {File} file
   * @param {string[]} _columns of the table that is sent
   * @param {Choices} choices
   */
  async function start(form, file, _columns, choices) {
    running?.abort();
    forget(last);
    last = null;
    const controller = (running = new AbortController());
    const progress = drawProgress(`Sending ${file.name}`, controller);
    say("Scoring has begun.");
    await guarded(async () => {
      const sent = await call("v1/score?job=true", { method: "POST", body: form, signal: controller.signal });
      const { id } = await sent.json();
      keepJob({ id, name: file.name, choices });
      await follow({ id, name: file.name, choices }, file, controller, progress);
    });
  }

  /** Takes up the job that was there before the page was loaded. */
  async function resume() {
    const kept = keptJob();
    if (!kept || running) return;
    const controller = (running = new AbortController());
    const progress = drawProgress(`Looking for the results of ${kept.name}`, controller);
    await guarded(
      () => follow(kept, null, controller, progress),
      (error) =>
        error.status === 404
          ? new Problem(`The results of ${kept.name} are no longer on the server; choose the file again to score it.`)
          : error,
    );
  }

  /**
   * @param {() => Promise<void>} work
   * @param {(error: Problem) => Problem} [told]
   */
  async function guarded(work, told = (error) => error) {
    try {
      await work();
    } catch (error) {
      if (isAbort(error)) return;
      const problems = told(asProblem(error));
      if (problems.retry === null) keepJob(null);
      idle();
      problem(problems);
    }
  }

  /**
   * @param {Kept} kept
   * @param {File | null} file
   * @param {AbortController} controller
   * @param {(job: Job) => void} progress
   */
  async function follow(kept, file, controller, progress) {
    const { signal } = controller;
    last = kept.id;
    const job = await finished(kept.id, signal, progress);
    if (job.state === "failed") throw new Problem(job.error ?? "The table could not be scored.");
    await done(job, kept, file, signal);
  }

  /** @param {string} words @param {AbortController} controller @returns {(job: Job) => void} */
  function drawProgress(words, controller) {
    const bar = /** @type {HTMLProgressElement} */ (
      make("progress", { id: "progress", max: 1, "aria-label": "Rows scored" })
    );
    const told = make("p", { id: "progress-told" }, words);
    const stopping = button("Stop", () => stop(controller), { "data-key": "stop" });
    redraw(into, make("div", { class: "progress" }, bar, told, stopping));
    return (now) => {
      bar.value = now.share;
      told.textContent = counts(now);
    };
  }

  /** @param {AbortController} controller */
  function stop(controller) {
    controller.abort();
    forget(last);
    last = null;
    keepJob(null);
    idle();
    say("Stopped.");
  }

  /** @param {Job} job @param {Kept} kept @param {File | null} file @param {AbortSignal} signal */
  async function done(job, kept, file, signal) {
    const address = `v1/jobs/${encodeURIComponent(job.id)}`;
    const stem = kindOf(kept.name)?.stem ?? "table";
    const found = job.summary ? await get(`${address}/summary`, { signal }) : null;
    const heading = [
      make("p", { class: "done" }, make("strong", {}, "Done. "), `${counts(job)}.`),
      job.note && make("p", { class: "note" }, `The file was ${job.note}.`),
      downloads({ address, stem, format: kept.choices.format, job, problem }),
    ];

    function draw() {
      const content = found
        ? summary(found, (cell) => {
            behind.show({
              address,
              cell,
              summary: found,
              back: draw,
              open: (text, target) => open(text, target, kept.name, file, kept.choices),
            });
          })
        : make("p", { class: "note" }, `There is no summary: ${job.no_summary}.`);
      redraw(into, ...heading, content);
    }

    draw();
    shown();
    say(`Done. ${counts(job)}. ${found?.sentences[0] ?? ""}`);
  }

  function idle() {
    redraw(
      into,
      make(
        "p",
        { class: "hint" },
        "Choose a table, say which column holds the texts, and see who is judged how on what. " +
          "The table comes back with a polarity for every target and aspect.",
      ),
    );
  }

  idle();
  return { start, resume };
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

/** @param {Job} job */
function counts({ scored, rejected }) {
  return `${rowsCount(scored)} scored${rejected ? `, ${rowsCount(rejected)} rejected` : ""}`;
}
