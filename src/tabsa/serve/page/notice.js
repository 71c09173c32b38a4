// What went wrong, in one line, and what can be done about it.

import { Problem, useKey } from "./api.js";
import { button, count, fill, make } from "./dom.js";

const LONGEST_WAIT = 60; // seconds

/** @param {HTMLElement} element */
export function attachNotice(element) {
  let timer = 0;
  let failures = 0; // in a row: each makes the next wait longer

  return {
    /**
     * @param {Problem | string | null} problem null: all is well
     * @param {() => void} [again] asks once more; called by itself where the problem may pass
     */
    show(problem, again) {
      clearTimeout(timer);
      element.hidden = !problem;
      if (!problem) {
        failures = 0;
        return fill(element);
      }
      const waits = again && (problem.retry ?? null) !== null;
      const wait = Math.min((problem.retry ?? 0) * 2 ** failures++, LONGEST_WAIT);
      if (waits) timer = setTimeout(again, wait * 1000);
      fill(
        element,
        make("p", sentence(problem.message ?? problem), waits && ` Trying again in ${count(wait, "second")}.`),
        waits && button("Try now", again, { class: "link-button" }),
        problem instanceof Problem && problem.status === 401 && keyForm(again),
      );
    },
  };
}

/** @param {(() => void) | undefined} again */
function keyForm(again) {
  const field = make("input", { type: "password", "aria-label": "Key of the service", autocomplete: "off" });
  const use = (/** @type {Event} */ event) => {
    event.preventDefault();
    useKey(field.value.trim());
    again?.();
  };
  return make("form.key", { onsubmit: use }, field, make("button.primary", "Use this key"));
}

/** The service's line as a sentence; what it calls 'text' is the text. @param {string} message */
export function sentence(message) {
  const line = message.trim().replace(/^'([a-z]+)[.\d]*': /, "the $1: ");
  return line.charAt(0).toUpperCase() + line.slice(1) + (/[.!?…]$/.test(line) ? "" : ".");
}
