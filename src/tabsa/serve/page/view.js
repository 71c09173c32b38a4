// What is shown of the gates: in which direction, and of which chains.

import { make, name, radios } from "./dom.js";
import { allChains } from "./gates.js";

/**
 * @typedef {import("./gates.js").Explanation} Explanation
 * @typedef {import("./gates.js").Passage} Passage
 * @typedef {{direction: string, chain: string}} View
 */

const QUESTION = "weighed by its key attention";
const MOST_SEGMENTS = 6; // chains as buttons side by side; more of them are a list

/** What of the chains can be shown. @param {Explanation} explanation @param {Passage[]} passages */
function chainOptions(explanation, passages) {
  return [
    ...(explanation.attention ? [{ value: "question", label: "for this question", hint: QUESTION }] : []),
    { value: "mean", label: "mean" },
    ...allChains(passages, explanation.tied).map(({ key, label }) => ({ value: key, label })),
  ];
}

/**
 * The view as far as there is such a thing here: another text may have other chains.
 * @param {Explanation} explanation
 * @param {Passage[]} passages
 * @param {View} view
 * @returns {View}
 */
export function possible(explanation, passages, { direction, chain }) {
  const options = chainOptions(explanation, passages);
  return {
    direction: explanation.directions.includes(direction) ? direction : "both",
    chain: options.some(({ value }) => value === chain) ? chain : options[0].value,
  };
}

/**
 * @param {Explanation} explanation
 * @param {Passage[]} passages
 * @param {View} view
 * @param {(view: Partial<View>) => void} change
 */
export function controls(explanation, passages, view, change) {
  const arrows = /** @type {Record<string, string>} */ ({ forward: "→", backward: "←" });
  const directions =
    explanation.directions.length > 1 &&
    radios({
      legend: "Reading",
      group: "direction",
      chosen: view.direction,
      options: [
        { value: "both", label: "both" },
        ...explanation.directions.map((value) => ({ value, label: `${value} ${arrows[value] ?? ""}` })),
      ],
      choose: (direction) => change({ direction }),
    });
  const options = chainOptions(explanation, passages);
  const choose = (/** @type {string} */ chain) => change({ chain });
  const list =
    options.length > MOST_SEGMENTS
      ? chainList(options, view.chain, choose)
      : radios({
          legend: "Chains",
          group: "chain",
          options: options.map((one) => ({ ...one, label: name(one.label) })),
          chosen: view.chain,
          choose,
        });
  return make("div", { class: "controls" }, directions, list);
}

/** @param {{value: string, label: string}[]} options @param {string} chosen @param {(chain: string) => void} choose */
function chainList(options, chosen, choose) {
  const select = /** @type {HTMLSelectElement} */ (
    make(
      "select",
      { "data-key": "chain" },
      ...options.map(({ value, label }) => make("option", { value, selected: value === chosen }, label)),
    )
  );
  select.addEventListener("change", () => choose(select.value));
  return make("label", { class: "pick" }, make("span", {}, "Chains"), select);
}
