// The first rows of a table, read here so that its columns can be chosen before anything is sent.

/** @typedef {{columns: string[], rows: Record<string, string>[]}} Table */

const HEAD = 256 * 1024; // characters that are looked at
const MOST_ROWS = 50;
const WHOLE = 20 * 1024 * 1024; // characters, where all rows are wanted
const MOST_OF_WHOLE = 20_000;
const KINDS = /^(.*)\.(csv|tsv|jsonl|ndjson)(\.gz)?$/i;

/** What a file's name says of it, or null where the service cannot read its kind. @param {string} name */
export function kindOf(name) {
  const parts = KINDS.exec(name);
  return parts && { stem: parts[1], kind: parts[2].toLowerCase(), compressed: Boolean(parts[3]) };
}

/** The first rows. @param {File} file */
export function headOf(file) {
  return read(file, HEAD, MOST_ROWS);
}

/** All rows, as far as a page can hold them. @param {File} file */
export function wholeOf(file) {
  return read(file, WHOLE, MOST_OF_WHOLE);
}

/** @param {File} file @param {number} characters @param {number} most rows @returns {Promise<Table>} */
async function read(file, characters, most) {
  const known = kindOf(file.name);
  if (!known)
    throw new Error(`${file.name} is of another kind; expected a .csv, .tsv or .jsonl file, or one of these with .gz.`);
  const bytes = known.compressed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const table = parse(await headText(bytes, characters), known.kind, most);
  if (!table.columns.length)
    throw new Error(`${file.name} has no rows; expected a line of column names and a row for each text.`);
  return table;
}

/**
 * The beginning of a stream as text; the rest is not read.
 * @param {ReadableStream<Uint8Array>} bytes
 * @param {number} [most] characters
 */
export async function headText(bytes, most = HEAD) {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let whole = false;
  while (!whole && text.length < most) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    whole = done;
  }
  reader.cancel().catch(() => {});
  return whole ? text : text.slice(0, text.lastIndexOf("\n"));
}

/** @param {string} text @param {string} kind @param {number} [most] rows @returns {Table} */
export function parse(text, kind, most = MOST_ROWS) {
  if (kind.endsWith("l") || kind === "ndjson") return parseLines(text, most);
  const [columns = [], ...rows] = separated(text, kind === "tsv" ? "\t" : ",", most);
  return {
    columns,
    rows: rows.map((row) => Object.fromEntries(columns.map((column, place) => [column, row[place] ?? ""]))),
  };
}

/** The column that most looks like the texts. @param {Table} table */
export function textColumn({ columns, rows }) {
  if (columns.includes("text")) return "text";
  const length = (/** @type {string} */ column) => rows.reduce((sum, row) => sum + (row[column] ?? "").length, 0);
  return columns.reduce((best, column) => (length(column) > length(best) ? column : best), columns[0]);
}

/** @param {string} text @param {number} most @returns {Table} */
function parseLines(text, most) {
  const rows = text
    .split("\n")
    .filter((line) => line.trim())
    .slice(0, most)
    .flatMap((line) => {
      try {
        const row = JSON.parse(line);
        return row && typeof row === "object" ? [row] : [];
      } catch {
        return []; // the service tells which rows it cannot read
      }
    });
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const asText = (/** @type {unknown} */ value) =>
    typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);
  return {
    columns,
    rows: rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, asText(value)]))),
  };
}

/**
 * Rows of separated values, with quotes, after their header `most` of them.
 * @param {string} text
 * @param {string} separator
 * @param {number} most
 */
function separated(text, separator, most) {
  const field = new RegExp(
    `(?:"([^"]*(?:""[^"]*)*)"|([^"${separator}\\r\\n][^${separator}\\r\\n]*|))(${separator}|\\r?\\n|\\r|$)`,
    "y",
  );
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let found;
  while (rows.length <= most && field.lastIndex < text.length && (found = field.exec(text))) {
    row.push(found[1] === undefined ? found[2] : found[1].replaceAll('""', '"'));
    if (found[3] === separator) continue;
    if (row.length > 1 || row[0]) rows.push(row);
    row = [];
  }
  return rows;
}
