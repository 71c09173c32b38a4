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
      text: "The Pixel 9 takes wonderful photos and lasts all day, while the Galaxy S24 is faster but far too expensive.",
      targets: [named("Pixel 9"), named("Galaxy S24")],
      aspects: ["camera", "battery life", "speed", "price"],
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
    label: "a dinner",
    state: {
      text: "The soup at Nonna’s was cold and we waited an hour for it, though our waiter could not have been kinder.",
      targets: [named("Nonna’s")],
      aspects: ["food", "waiting time", "staff", "price"],
      cell: { target: "Nonna’s", aspect: "staff" },
    },
  },
  EXAMPLES[0],
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
