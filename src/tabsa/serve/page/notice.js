// What went wrong, in one line, and what can be done about it.

import { Problem, useKey } from "./api.js";
import { button, fill, make } from "./dom.js";

const LONGEST_WAIT = 60; // seconds

/** @param {HTMLElement} element */
export function attachNotice(element) {
  let timer = 0;
  let failures = 0; // in a row: each makes the next wait longer

  /**
   * @param {Problem | string | null} problem null: all is well
   * @param {() => void} [again] asks once more; called by itself where the problem may pass
   */
  function show(problem, again) {
    clearTimeout(timer);
    element.hidden = !problem;
    if (!problem) {
      failures = 0;
      return fill(element);
    }
    const retry = problem instanceof Problem ? problem.retry : null;
    const waits = again && retry !== null;
    const wait = Math.min((retry ?? 0) * 2 ** failures++, LONGEST_WAIT);
    if (waits) timer = setTimeout(again, wait * 1000);
    const message = typeof problem === "string" ? problem : problem.message;
    fill(
      element,
      make("p", {}, sentence(message), waits && ` Trying again in ${wait} second${wait === 1 ? "" : "s"}.`),
      waits && button("Try now", again, { class: "link-button" }),
      problem instanceof Problem && problem.status === 401 && keyForm(again),
    );
  }

  return { show };
}

/** @param {(() => void) | undefined} again */
function keyForm(again) {
  const field = /** @type {HTMLInputElement} */ (
    make("input", { type: "password", "aria-label": "Key of the service", autocomplete: "off" })
  );
  const form = make("form", { class: "key" }, field, make("button", { class: "primary" }, "Use this key"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(field.value.trim());
    again?.();
  });
  return form;
}

/** The service's line as a sentence; what it calls 'text' is the text. @param {string} message */
export function sentence(message) {
  const line = message.trim().replace(/^'([a-z]+)[.\d]*': /, "the $1: ");
  return line.charAt(0).toUpperCase() + line.slice(1) + (/[.!?…]$/.test(line) ? "" : ".");
}
