// Questions asked while the user types: only the latest counts.

import { asProblem, isAbort } from "./api.js";

/**
 * Runs a question a moment after it was last asked; an older one is stopped, and its answer is never seen.
 * @template T
 * @param {{delay: number, run: (signal: AbortSignal) => Promise<T>, answered: (answer: T) => void,
 *          failed: (problem: import("./api.js").Problem) => void, busy?: (busy: boolean) => void}} what
 */
export function latest({ delay, run, answered, failed, busy = () => {} }) {
  let timer = 0;
  /** @type {AbortController | null} */
  let current = null;

  async function ask() {
    const controller = (current = new AbortController());
    busy(true);
    try {
      const answer = await run(controller.signal);
      if (controller !== current) return;
      busy(false);
      answered(answer);
    } catch (error) {
      if (controller !== current || isAbort(error)) return;
      busy(false);
      failed(asProblem(error));
    }
  }

  function stop() {
    clearTimeout(timer);
    current?.abort();
    current = null;
    busy(false);
  }

  return {
    /** @param {number} [wait] milliseconds, instead of the usual delay */
    ask(wait = delay) {
      stop();
      timer = setTimeout(ask, wait);
    },
    stop,
  };
}
