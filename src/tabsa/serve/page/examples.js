// Texts to start from, each with a cell that is worth a look, and tables to start from.

import { button, make } from "./dom.js";
import { EMPTY, sameCell } from "./state.js";

/** @typedef {import("./state.js").Cell} Cell
 *  @typedef {{text: string, targets: string[], aspects?: string[], cell: Cell, right?: string}} Example
 *   `cell`: the one to look at; `right`: what is right of it, where the model in the box is wrong */

/** @type {Record<string, Example>} */
const PLACES = {
  "two places": {
    text: "Brixton is cheap and full of great bars, while Hampstead is beautiful and awfully expensive.",
    targets: ["Brixton", "Hampstead"],
    cell: { target: "Brixton", aspect: "price" },
  },
  "a longer text": {
    text:
      "We lived in Stoke Newington for six years. The restaurants on Church Street are wonderful. My sister moved to " +
      "Walthamstow instead. It is cheaper, and the Victoria line takes you to the centre in twenty minutes. But " +
      "parts of Walthamstow feel rough and unsafe after dark.",
    targets: ["Stoke Newington", "Walthamstow"],
    cell: { target: "Walthamstow", aspect: "safety" },
  },
  "one that it gets wrong": {
    text: "Brilliant transport in Orpington, I only had to wait fifty minutes for a bus.",
    targets: ["Orpington"],
    cell: { target: "Orpington", aspect: "transit-location" },
    right: "negative",
  },
};

/** The same for a model that can be asked about anything. @type {Record<string, Example>} */
const ANYTHING = {
  "two hotels": {
    text:
      "We stayed at the Regent. The staff were lovely and breakfast was superb. The room was tiny, though, and it " +
      "was noisy until two in the morning. My brother chose the Astoria. It was spotless and very cheap.",
    targets: ["Regent", "Astoria"],
    aspects: ["price", "staff", "location", "room", "bed", "cleanliness", "noise", "breakfast", "parking", "wifi"],
    cell: { target: "Regent", aspect: "noise" },
  },
  "two phones": {
    text: "The Pixel 9 takes wonderful photos but gets hot. The Galaxy S24 has a gorgeous screen and costs a fortune.",
    targets: ["Pixel 9", "Galaxy S24"],
    aspects: ["camera", "screen", "heat", "price"],
    cell: { target: "Galaxy S24", aspect: "price" },
  },
  "a landlord": {
    text: "Northgate Homes mended the boiler the same day, I give them that, but the rent goes up every single year.",
    targets: ["Northgate Homes"],
    aspects: ["repairs", "rent", "communication"],
    cell: { target: "Northgate Homes", aspect: "repairs" },
  },
  "hit and miss": {
    text: "The food at Rosa’s is sometimes excellent and sometimes awful.",
    targets: ["Rosa’s"],
    aspects: ["food", "staff", "price"],
    cell: { target: "Rosa’s", aspect: "food" },
  },
  "facts only": {
    text: "The Nokia comes in black and weighs 180 grams.",
    targets: ["Nokia"],
    aspects: ["weight", "colour", "price"],
    cell: { target: "Nokia", aspect: "weight" },
  },
  "one that it gets wrong": {
    text: "My Pixel 9 lasts as long as a matchstick.",
    targets: ["Pixel 9"],
    aspects: ["battery life", "screen", "price"],
    cell: { target: "Pixel 9", aspect: "battery life" },
    right: "negative",
  },
};

/** Tables to start from, for either kind of model. */
export const TABLES = {
  places: `id,text
1,"Camden is lively every night of the week, but the rents are eye-watering."
2,Croydon is very cheap.
3,"Honestly, I never feel unsafe in Richmond, even walking home at 2am."
4,"Stay away from Croydon after dark, it is not safe."
5,"Brixton has brilliant food and great bars."
6,"Does anyone know a good dentist?"
7,"The parks around Richmond are beautiful, but it is very expensive."
8,"Camden is full of tourists at the weekend."
`,
  anything: `id,text
1,The Pixel 9 looks gorgeous and costs a fortune.
2,My Brooks boots are comfortable and have lasted for years.
3,Customer service at Harlow is a joke.
4,The Vinted app is easy to use. Their customer service is hopeless.
5,The Dyson costs far too much.
6,Does anyone know a good dentist?
7,The Brooks are the most comfortable shoes I own.
8,The Dyson comes with two brushes.
`,
};

/** The examples as cards. @param {boolean} open whether an aspect may be any words
 * @param {(state: import("./state.js").State) => void} load */
export function cards(open, load) {
  const entries = Object.entries(open ? ANYTHING : PLACES).map(([label, { text, targets, aspects = null, cell }]) => {
    const named = targets.map((name) => ({ name, aliases: [] }));
    const state = { ...EMPTY, text, targets: named, aspects, cell };
    return make("li", button([make("span", label), text], () => load(state), { class: "card" }));
  });
  return make("ul.cards", { "aria-label": "Examples" }, ...entries);
}

/** A line on an answer that an example is known to get wrong; empty where there is none.
 * @param {string} text @param {import("./polarity.js").Opinion[]} opinions */
export function mistakeIn(text, opinions) {
  const example = [...Object.values(PLACES), ...Object.values(ANYTHING)].find((one) => one.right && one.text === text);
  const answer = opinions.find((one) => sameCell(one, example?.cell ?? null));
  if (!example || !answer || answer.polarity === example.right) return "";
  return `Here the model is wrong: of ${answer.target} on ${answer.aspect} a person would say ${example.right}.`;
}
