// A link that shows the same view again. What it holds stays in the browser: a fragment is never sent.

import { make } from "./dom.js";
import { keepView } from "./kept.js";
import { linkTo, toFragment } from "./state.js";

/** @typedef {import("./state.js").State} State */

const SAVED_AFTER = 400; // milliseconds; browsers refuse an address that changes with every key

/**
 * @param {{button: HTMLElement, state: () => State, say: (words: string) => void}} what
 */
export function attachLink({ button, state, say }) {
  const label = button.textContent;
  let saving = 0;
  let showing = 0;

  /** @param {string} words */
  function tell(words) {
    button.textContent = words;
    say(words);
    clearTimeout(showing);
    showing = setTimeout(() => (button.textContent = label), 2500);
  }

  button.addEventListener("click", async () => {
    const link = linkTo(state());
    if (!link) return tell("Too long for a link");
    try {
      await navigator.clipboard.writeText(link);
      tell("Link copied");
    } catch {
      tell(copied(link) ? "Link copied" : "Copy it from the address bar");
    }
  });

  return {
    /** Keeps the address of the page up to date. */
    save() {
      clearTimeout(saving);
      saving = setTimeout(() => {
        const fragment = toFragment(state());
        const fits = linkTo(state()) !== null;
        history.replaceState(null, "", fits ? `#${fragment}` : location.pathname + location.search);
        keepView(fits ? null : fragment);
      }, SAVED_AFTER);
    },
  };
}

/** The older way to the clipboard, for pages that are not served from this machine or by https. @param {string} words */
export function copied(words) {
  const field = /** @type {HTMLTextAreaElement} */ (make("textarea", { class: "unseen", "aria-hidden": true }));
  field.value = words;
  document.body.append(field);
  field.select();
  const worked = document.execCommand("copy");
  field.remove();
  return worked;
}
