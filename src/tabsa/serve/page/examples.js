// Texts to start from, each with a cell that is worth a look.

/** @typedef {import("./state.js").State} State */

/** @param {string} name */
const named = (name) => ({ name, aliases: [] });

/**
 * @typedef {{label: string, state: Partial<State>, wrong?: {target: string, aspect: string, right: string}[]}} Example
 *   `wrong`: cells that the model in the box gets wrong, and what is right
 */

/** @type {Example[]} */
export const EXAMPLES = [
  {
    label: "two places",
    state: {
      text: "Brixton is cheap and full of great bars, while Hampstead is beautiful and awfully expensive.",
      targets: [named("Brixton"), named("Hampstead")],
      cell: { target: "Brixton", aspect: "price" },
    },
  },
  {
    label: "a holiday",
    state: {
      text: "I loved the restaurants in Lisbon 🇵🇹 and the nightlife 🎉 is amazing, but Porto 😍 is cheaper and quieter.",
      targets: [named("Lisbon"), named("Porto")],
      cell: { target: "Lisbon", aspect: "dining" },
    },
  },
  {
    label: "a longer text",
    state: {
      text:
        "We lived in Stoke Newington for six years. The restaurants on Church Street are wonderful. My sister moved to " +
        "Walthamstow instead. It is cheaper, and the Victoria line takes you to the centre in twenty minutes. But parts " +
        "of Walthamstow feel rough and unsafe after dark. I still miss Stokey and its pubs, although it is awfully " +
        "expensive.",
      targets: [{ name: "Stoke Newington", aliases: ["Stokey"] }, named("Walthamstow")],
      cell: { target: "Walthamstow", aspect: "safety" },
    },
  },
  {
    label: "six places",
    state: {
      text:
        "Shoreditch is too expensive. Croydon is not safe at night. Peckham has great food. Richmond is very safe. " +
        "Greenwich is full of good shops. Camden is great for nightlife.",
      targets: ["Shoreditch", "Croydon", "Peckham", "Richmond", "Greenwich", "Camden"].map(named),
      cell: { target: "Shoreditch", aspect: "price" },
    },
  },
  {
    label: "one that it gets wrong",
    state: {
      text: "Brilliant transport in Orpington, I only had to wait fifty minutes for a bus.",
      targets: [named("Orpington")],
      cell: { target: "Orpington", aspect: "transit-location" },
    },
    wrong: [{ target: "Orpington", aspect: "transit-location", right: "negative" }],
  },
];

/** The same for a model that can be asked about anything. @type {Example[]} */
export const OPEN_EXAMPLES = [
  {
    label: "two phones",
    state: {
      text: "The Pixel 9 takes wonderful photos but gets hot. The Galaxy S24 has a gorgeous screen and costs a fortune.",
      targets: [named("Pixel 9"), named("Galaxy S24")],
      aspects: ["camera", "screen", "heat", "price"],
      cell: { target: "Galaxy S24", aspect: "price" },
    },
  },
  {
    label: "a landlord",
    state: {
      text: "Northgate Homes mended the boiler the same day, I give them that, but the rent goes up every single year.",
      targets: [named("Northgate Homes")],
      aspects: ["repairs", "rent", "communication"],
      cell: { target: "Northgate Homes", aspect: "repairs" },
    },
  },
  {
    label: "two hotels",
    state: {
      text:
        "We stayed at the Regent. The staff were lovely and breakfast was superb. The room was tiny, though, and it was " +
        "noisy until two in the morning. My brother chose the Astoria. It was spotless and very cheap.",
      targets: [named("Regent"), named("Astoria")],
      aspects: [
        ...["price", "staff", "location", "room", "bed"],
        ...["cleanliness", "noise", "breakfast", "facilities", "wifi"],
      ],
      cell: { target: "Regent", aspect: "noise" },
    },
  },
  {
    label: "facts only",
    state: {
      text: "The Nokia comes in black and weighs 180 grams.",
      targets: [named("Nokia")],
      aspects: ["weight", "colour", "price"],
      cell: { target: "Nokia", aspect: "weight" },
    },
  },
  {
    label: "hit and miss",
    state: {
      text: "The food at Rosa’s is sometimes excellent and sometimes awful.",
      targets: [named("Rosa’s")],
      aspects: ["food", "staff", "price"],
      cell: { target: "Rosa’s", aspect: "food" },
    },
  },
  {
    label: "a sofa",
    state: {
      text: "The sofa from Harlow is comfortable and looks great, but delivery took nine weeks.",
      targets: [named("Harlow")],
      aspects: ["comfort", "looks", "delivery", "price"],
      cell: { target: "Harlow", aspect: "delivery" },
    },
  },
  {
    label: "one that it gets wrong",
    state: {
      text: "My Pixel 9 lasts as long as a matchstick.",
      targets: [named("Pixel 9")],
      aspects: ["battery life", "screen", "price"],
      cell: { target: "Pixel 9", aspect: "battery life" },
    },
    wrong: [{ target: "Pixel 9", aspect: "battery life", right: "negative" }],
  },
];

/**
 * What is right of an answer that an example is known to get wrong; null where it is not known to be, or is right.
 * @param {string} text
 * @param {import("./states.js").Opinion} opinion
 */
export function mistakeIn(text, { target, aspect, polarity }) {
  const example = [...EXAMPLES, ...OPEN_EXAMPLES].find((one) => one.wrong && one.state.text === text);
  const right = example?.wrong?.find((one) => one.target === target && one.aspect === aspect)?.right ?? polarity;
  return right === polarity ? null : right;
}

/** A table to start from, and who may be judged in it. */
export const TABLE = {
  name: "comments.csv",
  targets: ["Camden", "Brixton", "Croydon", "Richmond"].map(named),
  csv: `id,text
1,"Camden is lively every night of the week, but the rents are eye-watering."
2,Croydon is very cheap.
3,"Honestly, I never feel unsafe in Richmond, even walking home at 2am."
4,"Stay away from Croydon after dark, it is not safe."
5,"Brixton has brilliant food and great bars."
6,"Does anyone know a good dentist?"
7,"The parks around Richmond are beautiful, but it is very expensive."
8,"Camden is full of tourists at the weekend."
`,
};

/** The same for a model that can be asked about anything; every row is worth asking about the everyday aspects. */
export const OPEN_TABLE = {
  name: "comments.csv",
  targets: ["Pixel 9", "Brooks", "Harlow", "Vinted", "Dyson"].map(named),
  csv: `id,text
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
