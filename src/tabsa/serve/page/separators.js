// What stands between the fields of a table: commas, or what spreadsheets of other countries write.

/** @type {Record<string, string>} */
const NAMES = { ",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars" };
const ROWS = 100; // that are looked at
const SAID = /^"?sep=([^\w\s"]|\t)"?[ \t;,]*(\r\n|\r|\n|$)/i;

/** @param {string} character */
export function separatorName(character) {
  return NAMES[character] ?? `“${character}”`;
}

/**
 * The separator of the table that begins so, and how many characters a first line that only says so has.
 * It is what the file's name says, unless the rows have the header's fields with another.
 * @param {string} text
 * @param {string} expected
 * @param {boolean} whole
 */
export function separatorOf(text, expected, whole) {
  const said = SAID.exec(text);
  if (said) return { character: said[1], said: said[0].length };
  const head = text.slice(0, 65_536);
  const fits = [...new Set([expected, ...Object.keys(NAMES)])]
    .filter((character) => character === expected || head.includes(character))
    .map((character) => ({ character, ...fit(head, character, whole && head.length === text.length) }))
    .filter(({ fields }) => fields > 1)
    .sort((one, other) => other.share - one.share || other.fields - one.fields);
  const [best] = fits;
  return { character: best && best.share > 0.5 ? best.character : expected, said: 0 };
}

/**
 * The share of rows with as many fields as the header has.
 * @param {string} head
 * @param {string} character
 * @param {boolean} whole
 */
function fit(head, character, whole) {
  const rows = separated(head, character, ROWS);
  if (!whole && rows.length > 1 && rows.length <= ROWS) rows.pop(); // it may be cut
  const [header = [], ...others] = rows;
  const share = others.length ? others.filter((row) => row.length === header.length).length / others.length : 1;
  return { share, fields: header.length };
}

/**
 * Rows of separated values, with quotes, after their header `most` of them.
 * @param {string} text
 * @param {string} separator
 * @param {number} most
 */
export function separated(text, separator, most) {
  const escaped = separator.replace(/[\\^\]|]/g, "\\$&");
  const field = new RegExp(
    `(?:"([^"]*(?:""[^"]*)*)"|([^"${escaped}\\r\\n][^${escaped}\\r\\n]*|))(${escaped}|\\r?\\n|\\r|$)`,
    "y",
  );
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let found;
  while (rows.length <= most && field.lastIndex < text.length && (found = field.exec(text))) {
    row.push(found[1] === undefined ? found[2] : found[1].replaceAll('""', '"'));
    if (found[3] === separator) {
      if (field.lastIndex < text.length) continue;
      row.push("");
    }
    if (row.length > 1 || row[0]) rows.push(row);
    row = [];
  }
  return rows;
}
