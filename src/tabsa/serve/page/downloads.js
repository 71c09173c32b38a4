// The results of a table as files.

import { asProblem, call, keyed } from "./api.js";
import { make } from "./dom.js";
import { rowsCount } from "./summary.js";

/**
 * @param {{address: string, stem: string, format: string, job: import("./job.js").Job,
 *          problem: (problem: import("./api.js").Problem) => void}} what `stem`: the name that the files begin with
 */
export function downloads({ address, stem, format, job, problem }) {
  /** @param {string} label @param {string} part @param {string} file @param {string} [look] */
  const link = (label, part, file, look = "") => download(label, `${address}/${part}`, file, look, problem);
  return make(
    "p",
    { class: "downloads" },
    link("Download the results", "result", `${stem}-scored.${format}`, "primary"),
    job.summary && report(address, stem, problem),
    job.summary && link("Summary as CSV", "numbers.csv", `${stem}-summary.csv`),
    job.rejected > 0 &&
      link(`Download ${rowsCount(job.rejected)} that could not be read`, "rejects", `${stem}-rejects.jsonl`),
  );
}

/**
 * The report opens in a tab of its own, but a link cannot carry a key: then it is a file.
 * @param {string} address
 * @param {string} stem
 * @param {(problem: import("./api.js").Problem) => void} problem
 */
function report(address, stem, problem) {
  const path = `${address}/report.html`;
  if (keyed()) return download("Download the report", path, `${stem}-report.html`, "", problem);
  return make("a", { class: "button", href: path, target: "_blank", rel: "noopener" }, "Open the report");
}

/**
 * @param {string} label
 * @param {string} address
 * @param {string} file
 * @param {string} look
 * @param {(problem: import("./api.js").Problem) => void} problem
 */
function download(label, address, file, look, problem) {
  const link = make("a", { class: `button ${look}`.trim(), href: address, download: file }, label);
  link.addEventListener("click", async (event) => {
    if (!keyed()) return; // a plain link streams to the disk, but cannot carry a key
    event.preventDefault();
    try {
      const held = URL.createObjectURL(await (await call(address)).blob());
      make("a", { href: held, download: file }).click();
      setTimeout(() => URL.revokeObjectURL(held), 60_000);
    } catch (error) {
      problem(asProblem(error));
    }
  });
  return link;
}
