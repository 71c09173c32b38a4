// A look at the results of a table: its first texts, and what was found in them.

import { button, make, unseen } from "./dom.js";
import { look } from "./grid.js";

const SHOWN = 8; // texts

/**
 * The first texts of the results, each with the opinions found in it.
 * @param {import("./table.js").Table} table
 * @param {string[]} given the columns that were sent
 * @param {string} text
 * @param {(text: string) => void} open shows a text on the first tab, where its answers can be corrected
 */
export function found({ rows }, given, text, open) {
  /** @type {Map<string, HTMLElement[]>} a text of the long layout has a row for each opinion */
  const texts = new Map();
  for (const row of rows) {
    if (!texts.has(row[text]) && texts.size === SHOWN) break;
    texts.set(row[text], [...(texts.get(row[text]) ?? []), ...opinionsIn(row, given)]);
  }
  if (!texts.size) return make("p", { class: "note" }, "No opinion was found.");
  const lines = [...texts].map(([words, tags]) =>
    make(
      "tr",
      {},
      make("td", {}, make("span", { dir: "auto" }, words), " ", opening(words, open)),
      make("td", { class: "tags" }, ...(tags.length ? tags : ["silent"])),
    ),
  );
  const head = make("tr", {}, make("th", { scope: "col" }, text), make("th", { scope: "col" }, "opinions"));
  return make(
    "table",
    { class: "found" },
    make("caption", {}, "The first texts"),
    make("thead", {}, head),
    make("tbody", {}, ...lines),
  );
}

/** @param {string} words @param {(text: string) => void} open */
function opening(words, open) {
  const label = button("Open", () => open(words), { class: "link-button" });
  label.append(unseen(" this text, to see why and to correct it"));
  return label;
}

/** @param {Record<string, string>} row @param {string[]} given */
function opinionsIn(row, given) {
  const added = Object.keys(row).filter((column) => !given.includes(column));
  const long = ["target", "aspect", "polarity"].every((column) => added.includes(column));
  const pairs = long
    ? [[[row.target, row.aspect].filter(Boolean).join("/"), row.polarity]]
    : added
        .map((column) => [column, row[column]])
        .filter(([, polarity]) => polarity && polarity.split(";").some((one) => one !== "none"));
  return pairs.map(([pair, polarity]) => {
    const { sign, word, tone } = look(polarity);
    const shown =
      tone === "other" ? [`${word} `] : [make("span", { "aria-hidden": true }, `${sign}\u00a0`), unseen(`${word} `)];
    return make("span", { class: `tag ${tone}` }, ...shown, breakable(pair));
  });
}

/** A pair, which in a narrow window goes on in a new line after its slash. @param {string} pair */
function breakable(pair) {
  const [first, ...rest] = pair.split("/");
  return make("bdi", {}, first, ...rest.flatMap((part) => ["/", make("wbr"), part]));
}
