// The first rows of a table, read here so that its columns can be chosen before anything is sent.

import { decode, refuseContent } from "./decoding.js";
import { separatorOf, separated, separatorName } from "./separators.js";

/** @typedef {{columns: string[], rows: Record<string, string>[], note: string}} Table `note`: how it was read */

const HEAD = 256 * 1024; // bytes that are looked at
const MOST_ROWS = 256;
const WHOLE = 20 * 1024 * 1024; // bytes, where all rows are wanted
const MOST_OF_WHOLE = 20_000;
const KINDS = /^(.*)\.(csv|tsv|jsonl|ndjson|xlsx)(\.gz)?$/i;
/** @type {Record<string, string>} files that are no tables, or not such as can be read, and what to do about them */
const OTHERS = {
  xls: "an old Excel workbook; save it as .xlsx, or as CSV UTF-8",
  xlsm: "an Excel workbook with macros; save it as .xlsx, or as CSV UTF-8",
  xlsb: "a binary Excel workbook; save it as .xlsx, or as CSV UTF-8",
  ods: "an OpenDocument table; save it as CSV UTF-8",
  numbers: "a Numbers table; export it as CSV",
  pdf: "a PDF file, not a table; expected rows, one text each",
  doc: "a Word document, not a table; expected rows, one text each",
  docx: "a Word document, not a table; expected rows, one text each",
  zip: "a zip archive; unpack it",
  parquet: "a Parquet file, which only tabsa score reads; save it as CSV UTF-8",
};

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

/** Raises an Error with one clear line where a file is of another kind, by its name. @param {string} name */
export function checkName(name) {
  const known = kindOf(name);
  if (known) return known;
  const other = OTHERS[name.split(".").pop()?.toLowerCase() ?? ""];
  if (other) throw new Error(`The file ${name} is ${other}.`);
  throw new Error(`The file ${name} is of another kind; expected a .csv, .tsv, .jsonl or .xlsx file.`);
}

/** @param {File} file @param {number} most bytes @param {number} rows @returns {Promise<Table>} */
async function read(file, most, rows) {
  const { kind, compressed } = checkName(file.name);
  const stream = compressed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const { bytes, whole } = await headBytes(stream, most);
  refuseContent(bytes, file.name);
  const { text, encoding } = decode(bytes, file.name, { whole, legacy: !kind.includes("json") });
  const table = parse(whole ? text : text.slice(0, lastEnd(text)), kind, rows, whole);
  if (!table.columns.length)
    throw new Error(`The file ${file.name} has no rows; expected a line of column names and a row for each text.`);
  const told = [encoding, table.note].filter(Boolean).join(", ");
  return { ...table, note: told && `Read as ${told}.` };
}

/**
 * The beginning of a stream; the rest is not read.
 * @param {ReadableStream<Uint8Array>} stream
 * @param {number} most bytes
 */
async function headBytes(stream, most) {
  const reader = stream.getReader();
  /** @type {Uint8Array[]} */
  const pieces = [];
  let size = 0;
  let whole = false;
  while (!whole && size < most) {
    const { done, value } = await reader.read();
    whole = done;
    if (value) pieces.push(value);
    size += value?.length ?? 0;
  }
  reader.cancel().catch(() => {});
  const bytes = new Uint8Array(size);
  let place = 0;
  for (const piece of pieces) {
    bytes.set(piece, place);
    place += piece.length;
  }
  return { bytes, whole };
}

/** Where the last whole line ends. @param {string} text */
function lastEnd(text) {
  const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r"));
  return end < 0 ? text.length : end;
}

/**
 * @param {string} text
 * @param {string} kind
 * @param {number} [most] rows
 * @param {boolean} [whole] whether there is no more of it
 * @returns {Table}
 */
export function parse(text, kind, most = MOST_ROWS, whole = true) {
  if (kind.endsWith("l") || kind === "ndjson") return parseLines(text, most);
  const expected = kind === "tsv" ? "\t" : ",";
  const { character, said } = separatorOf(text, expected, whole);
  const [header = [], ...rows] = separated(text.slice(said), character, most);
  const columns = header.map((name) => name.trim());
  return {
    columns,
    rows: rows.map((row) => Object.fromEntries(columns.map((column, place) => [column, row[place] ?? ""]))),
    note: character === expected ? "" : `separated by ${separatorName(character)}`,
  };
}

/** The column that most looks like the texts. @param {Table} table */
export function textColumn({ columns, rows }) {
  if (columns.includes("text")) return "text";
  const length = (/** @type {string} */ column) => rows.reduce((sum, row) => sum + (row[column] ?? "").length, 0);
  return columns.reduce((best, column) => (length(column) > length(best) ? column : best), columns[0]);
}

/** The column of dates, or "" where none looks so. @param {Table} table */
export function dateColumn({ columns, rows }) {
  const called = /(^|[_\s-])(date|day|when|datum|fecha|timestamp|created|published|posted|\w*(date|time))($|[_\s-])/i;
  const dated = /^\s*(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T\s].*)?$/;
  const holds = (/** @type {string} */ column) => {
    const values = rows.map((row) => row[column] ?? "").filter((value) => value.trim());
    return values.length > 0 && values.filter((value) => dated.test(value)).length >= 0.8 * values.length;
  };
  return columns.find((column) => called.test(column) && holds(column)) ?? columns.find(holds) ?? "";
}

/** The column whose name is one of these, in any case of letters; "" where there is none.
 * @param {Table} table @param {string[]} names */
export function columnCalled({ columns }, ...names) {
  return columns.find((column) => names.includes(column.toLowerCase())) ?? "";
}

/** @param {string} text @param {number} most @returns {Table} */
function parseLines(text, most) {
  const rows = text
    .split(/\r?\n/)
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
    note: "",
  };
}
