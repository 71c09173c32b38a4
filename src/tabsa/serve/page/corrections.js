// What people say is right: kept in this browser, and sent to the service where it has a file for it.

import { asProblem, post } from "./api.js";

/**
 * @typedef {{text: string, target: string | null, aliases?: string[], aspect: string, polarity: string | null,
 *            said?: string, probability?: number, model?: string, time?: string}} Correction
 * @typedef {{correction: Correction, before: Correction | null}} Made `before`: what it took the place of
 * @typedef {{made: Made[], unsent: Correction[]}} Kept
 */

const STORED = "tabsa-corrections";
const LONGEST_WAIT = 60; // seconds
const FIRST_WAIT = 5; // where the service does not say

/** A correction as a line of training data: only this aspect was asked of this target. @param {Correction} correction */
export function lineOf({ text, target, aliases, aspect, polarity, said, probability, model, time }) {
  const more = { said, probability, model, time };
  return JSON.stringify({ text, target, aliases, aspect, polarity, asked_only: true, ...more });
}

/**
 * @param {{changed: () => void, problem: (message: string) => void}} what `problem`: empty where all is well
 */
export function makeCorrections({ changed, problem }) {
  /** @type {Kept} what there is, where the browser keeps nothing */
  let memory = { made: [], unsent: [] };
  let lasting = true;
  /** @type {string | null} the name of the service's file */
  let file = null;
  /** @type {Made[]} what the last clearing took away */
  let cleared = [];
  let [timer, failures, sending] = [0, 0, false];

  /** @returns {Kept} */
  function read() {
    try {
      if (lasting) return checked(JSON.parse(localStorage.getItem(STORED) ?? "{}"));
    } catch {
      // Storage is switched off, or holds something else.
    }
    return memory;
  }

  /** @param {Kept} kept */
  function write(kept) {
    memory = kept;
    try {
      localStorage.setItem(STORED, JSON.stringify(kept));
      lasting = true;
    } catch {
      lasting = false; // switched off, or full: they hold for this page, then
    }
    changed();
  }

  async function send() {
    clearTimeout(timer);
    if (sending || file === null) return;
    sending = true;
    try {
      for (let next = read().unsent[0]; next; next = read().unsent[0]) {
        await post("v1/corrections", next);
        sent();
        failures = 0;
      }
      problem("");
    } catch (error) {
      const told = asProblem(error);
      if (told.retry === null && told.status !== 401) sent(); // it would never be taken
      problem(told.message);
      const wait = Math.min((told.retry ?? FIRST_WAIT) * 2 ** failures++, LONGEST_WAIT);
      if (read().unsent.length) timer = setTimeout(send, wait * 1000);
    } finally {
      sending = false;
    }
  }

  /** The first in the line has been dealt with. */
  function sent() {
    const { made, unsent } = read();
    write({ made, unsent: unsent.slice(1) });
  }

  /** @param {Made[]} made @param {Correction} news what the service is told, if it has a file */
  function keep(made, news) {
    const { unsent } = read();
    write({ made, unsent: file === null ? unsent : [...unsent, news] });
    send();
  }

  addEventListener("storage", (event) => event.key === STORED && changed()); // another tab of the page

  return {
    /** Those that hold, the earliest first. */
    all: () => read().made.map(({ correction }) => correction),
    /** How many the service has not been told of. */
    waiting: () => read().unsent.length,
    lasting: () => lasting,
    /** The name of the service's file, null where it has none. */
    file: () => file,
    undoable: () => read().made.length + cleared.length > 0,
    /** @param {Correction} correction in the place of an earlier one, if there is one */
    put(correction) {
      const { made } = read();
      const before = made.find((one) => same(one.correction, correction))?.correction ?? null;
      cleared = [];
      keep([...made.filter((one) => !same(one.correction, correction)), { correction, before }], correction);
    },
    /** @param {Correction} correction */
    takeBack(correction) {
      cleared = [];
      keep(
        read().made.filter((one) => !same(one.correction, correction)),
        { ...correction, polarity: null },
      );
    },
    /** Undoes the last correction, or the clearing that came after it. */
    undo() {
      const { made, unsent } = read();
      const last = made.at(-1);
      if (cleared.length) {
        write({ made: [...cleared, ...made], unsent });
        cleared = [];
        changed();
      } else if (last) {
        const { correction, before } = last;
        const rest = made.slice(0, -1);
        if (before) keep([...rest, { correction: before, before: null }], before);
        else keep(rest, { ...correction, polarity: null });
      }
    },
    /** Forgets them here; what the service has been told stays. */
    clear() {
      const { made, unsent } = read();
      cleared = made;
      write({ made: [], unsent });
    },
    /** Begins to tell the service, if it has a file. @param {string | null} name */
    sendTo(name) {
      file = name;
      if (name === null && read().unsent.length) write({ made: read().made, unsent: [] });
      send();
    },
  };
}

/** Whether two are on the same text, target and aspect. @param {Correction} a @param {Correction} b */
export function same(a, b) {
  return a.text === b.text && a.target === b.target && a.aspect === b.aspect;
}

/** What was stored, as far as it can be used. @param {any} stored @returns {Kept} */
function checked(stored) {
  const fits = (/** @type {any} */ one) =>
    typeof one?.text === "string" &&
    typeof one.aspect === "string" &&
    (one.target === null || typeof one.target === "string");
  const made = Array.isArray(stored?.made) ? stored.made : [];
  const unsent = Array.isArray(stored?.unsent) ? stored.unsent : [];
  return {
    made: made.filter((/** @type {any} */ one) => fits(one?.correction) && typeof one.correction.polarity === "string"),
    unsent: unsent.filter(fits),
  };
}
