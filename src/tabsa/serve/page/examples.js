// Texts to start from, each with a cell that is worth a look.

/** @typedef {import("./state.js").State} State */

/** @param {string} name */
const named = (name) => ({ name, aliases: [] });

/** @type {{label: string, state: Partial<State>}[]} */
export const EXAMPLES = [
  {
    label: "two places",
    state: {
      text: "Brixton is cheap and full of great bars, while Hampstead is beautiful, dull and awfully expensive.",
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
        "We lived in Stoke Newington for six years and loved it. The restaurants on Church Street are wonderful and the " +
        "park is gorgeous. My sister moved to Walthamstow instead. Walthamstow is much cheaper and the Victoria line " +
        "takes you to the centre in twenty minutes. But parts of Walthamstow feel rough and unsafe after dark. I still " +
        "miss Stokey and its pubs, although it is awfully expensive.",
      targets: [{ name: "Stoke Newington", aliases: ["Stokey"] }, named("Walthamstow")],
      cell: { target: "Walthamstow", aspect: "safety" },
    },
  },
  {
    label: "six places",
    state: {
      text:
        "Camden is great for nightlife, Richmond has lovely parks, Shoreditch is too expensive, Greenwich is full of " +
        "tourists, Croydon is not safe at night, and Peckham is cheap with great food.",
      targets: ["Camden", "Richmond", "Shoreditch", "Greenwich", "Croydon", "Peckham"].map(named),
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
  },
];

/** The same for a model that can be asked about anything. @type {{label: string, state: Partial<State>}[]} */
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
    label: "two places",
    state: {
      text: "Camden is your best bet for secure although expensive and Croydon is too far.",
      targets: [named("Camden"), named("Croydon")],
      aspects: ["safety", "price", "location"],
      cell: { target: "Camden", aspect: "safety" },
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
      cell: { target: "Harlow", aspect: "comfort" },
    },
  },
];

/** A table to start from, and who may be judged in it. */
export const TABLE = {
  name: "comments.csv",
  targets: ["Camden", "Brixton", "Croydon", "Richmond"].map(named),
  csv: `id,text
1,"Camden is lively every night of the week, but the rents are eye-watering."
2,"Moved from Brixton to Croydon last year: half the price, twice the commute."
3,"Honestly, I never feel unsafe in Richmond, even walking home at 2am."
4,"Stay away from Croydon after dark."
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
4,"Vinted is easy to use, but their support never answers."
5,The Dyson is far too expensive for what it does.
6,Does anyone know a good dentist?
7,The Brooks are the most comfortable shoes I own.
8,The Dyson comes with two brushes.
`,
};
