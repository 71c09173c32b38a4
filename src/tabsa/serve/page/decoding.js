// A file's bytes as text: UTF-8, UTF-16, or Windows-1252 as spreadsheets still write it. As `tabsa.tables` does it.

const SAMPLE = 64 * 1024; // bytes that tell
/** @type {[number[], string][]} */
const OTHERS = [
  [
    [0x50, 0x4b, 3, 4],
    "a zip archive or an Excel workbook, not text; give a workbook the name .xlsx, or save it as CSV UTF-8",
  ],
  [[0xd0, 0xcf, 0x11, 0xe0], "an old or an encrypted Excel workbook, not text; save it as CSV UTF-8"],
  [[0x25, 0x50, 0x44, 0x46, 0x2d], "a PDF file, not a table; expected rows, one text each"],
  [[0x50, 0x41, 0x52, 0x31], "a Parquet file, which only tabsa score reads"],
  [[0x1f, 0x8b], "a packed file (gzip); give it a name that ends in .gz"],
];

/**
 * Raises an Error where a file of text begins as something else does.
 * @param {Uint8Array} bytes
 * @param {string} name
 */
export function refuseContent(bytes, name) {
  const other = OTHERS.find(([start]) => start.every((byte, place) => bytes[place] === byte));
  if (other) throw new Error(`The file ${name} is ${other[1]}.`);
}

/**
 * The text, and the name of its encoding where it is not UTF-8.
 * @param {Uint8Array} bytes
 * @param {string} name of the file
 * @param {{whole: boolean, legacy: boolean}} what `whole`: there is no more of it; `legacy`: it may be Windows-1252
 * @returns {{text: string, encoding: string}}
 */
export function decode(bytes, name, { whole, legacy }) {
  const label = labelOf(bytes, name, legacy);
  const text = new TextDecoder(label).decode(bytes, { stream: !whole });
  const encoding = label === "utf-8" ? "" : label === "windows-1252" ? "Windows-1252" : "UTF-16";
  return { text, encoding };
}

/** @param {Uint8Array} bytes @param {string} name @param {boolean} legacy */
function labelOf(bytes, name, legacy) {
  const [first, second, third, fourth] = bytes;
  if (first === 0xff && second === 0xfe) {
    if (bytes.length > 3 && third === 0 && fourth === 0)
      throw new Error(`The file ${name} is UTF-32 text; save it as UTF-8.`);
    return "utf-16le";
  }
  if (first === 0xfe && second === 0xff) return "utf-16be";
  const sample = bytes.subarray(0, SAMPLE);
  if (sample.subarray(0, 4096).includes(0)) {
    const found = unmarked(sample);
    if (found) return found;
  }
  if (sample.subarray(0, 4).includes(0))
    throw new Error(`The file ${name} is not text (it holds zero bytes); save it as CSV UTF-8.`);
  return legacy && isLegacy(bytes) ? "windows-1252" : "utf-8";
}

/** UTF-16 without its mark: every second byte of what is ASCII in it is zero. @param {Uint8Array} sample */
function unmarked(sample) {
  const zeros = [0, 0];
  sample.forEach((byte, place) => byte || zeros[place % 2]++);
  if (4 * Math.min(...zeros) > Math.max(...zeros)) return null;
  const label = zeros[1] > zeros[0] ? "utf-16le" : "utf-16be";
  const text = new TextDecoder(label).decode(sample, { stream: true });
  return /[\r\n,;\t{]/.test(text) && !/[\0-\x08\x0e-\x1f]/.test(text) ? label : null;
}

/** Whether the bytes beyond ASCII are mostly not UTF-8. @param {Uint8Array} bytes */
function isLegacy(bytes) {
  const first = bytes.findIndex((byte) => byte > 0x7f);
  if (first < 0 || (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)) return false;
  const text = new TextDecoder().decode(bytes.subarray(first, first + SAMPLE), { stream: true });
  const wrong = text.split("\ufffd").length - 1;
  const right = [...text].filter((character) => character > "\x7f" && character !== "\ufffd").length;
  return wrong > right;
}
