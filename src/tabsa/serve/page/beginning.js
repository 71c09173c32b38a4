// Where there is nothing to show: texts to begin with, and what is missing.

import { button, byId, fill, make } from "./dom.js";
import { EXAMPLES, OPEN_EXAMPLES } from "./examples.js";
import { EMPTY } from "./state.js";

/** @typedef {import("./state.js").State} State */

/**
 * @param {{open: () => boolean, load: (state: State) => void}} what `open`: whether an aspect may be any words
 */
export function attachBeginning({ open, load }) {
  const examples = () => (open() ? OPEN_EXAMPLES : EXAMPLES);

  return {
    /** The examples in a line, such as the model can be asked about. */
    draw() {
      const buttons = examples().map(({ label, state }) =>
        button(label, () => load({ ...EMPTY, ...state }), { class: "link-button" }),
      );
      fill(byId("examples"), make("span", {}, "Try"), ...buttons);
    },
    /** The same in place of opinions. */
    cards: () =>
      make(
        "ul",
        { class: "cards" },
        ...examples().map(({ state }) =>
          make(
            "li",
            {},
            make(
              "button",
              { type: "button", class: "card", onclick: () => load({ ...EMPTY, ...state }) },
              make("span", {}, state.text),
            ),
          ),
        ),
      ),
  };
}

/**
 * What has to be given before there is anything to ask; empty where all is there.
 * @param {State} state
 * @param {{open: boolean, implied: boolean}} how `implied`: what a text is about need not be named
 */
export function missingFrom({ text, targets, aspects }, { open, implied }) {
  if (!text.trim())
    return "Write or paste a text, name who may be judged in it, and see who is judged, on what, and how.";
  if (!targets.length && !implied)
    return "Who may be judged? Take a suggestion, select a name in the text, or type one. Where the text does not name it, say so below.";
  if (!aspects || aspects.length) return "";
  return open ? "On what? Add an aspect in your own words, or take a list." : "On what? Choose at least one aspect.";
}
