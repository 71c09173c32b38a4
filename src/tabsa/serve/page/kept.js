// What outlives a reload: a text too long for a link, while the tab is open, and the aspects that were chosen.

const STORED_VIEW = "tabsa-view";
const STORED_ASPECTS = "tabsa-aspects";
const STORED_JOB = "tabsa-job";
const STORED_MODE = "tabsa-mode";

/** The view that was kept for this tab, as a fragment; empty where there is none. */
export function keptView() {
  return read(() => sessionStorage.getItem(STORED_VIEW)) ?? "";
}

/** @param {string | null} fragment null: the address holds it */
export function keepView(fragment) {
  write(sessionStorage, STORED_VIEW, fragment);
}

/** The aspects that were chosen last, or null where those are the model's own. @returns {string[] | null} */
export function keptAspects() {
  const found = read(() => JSON.parse(localStorage.getItem(STORED_ASPECTS) ?? "null"));
  const fits = Array.isArray(found) && found.length > 0 && found.every((one) => typeof one === "string");
  return fits ? found : null;
}

/** @param {string[] | null} aspects */
export function keepAspects(aspects) {
  write(localStorage, STORED_ASPECTS, aspects?.length ? JSON.stringify(aspects) : null);
}

/** The job that this tab began last, if its results may still be there. @returns {import("./job.js").Kept | null} */
export function keptJob() {
  const found = read(() => JSON.parse(sessionStorage.getItem(STORED_JOB) ?? "null"));
  const fits = [found?.id, found?.name, found?.choices?.format, found?.choices?.text].every(
    (one) => typeof one === "string",
  );
  return fits ? found : null;
}

/** @param {import("./job.js").Kept | null} job */
export function keepJob(job) {
  write(sessionStorage, STORED_JOB, job && JSON.stringify(job));
}

/** Whether the page was there before, in this tab: it was loaded again, or gone back to. */
export function isAgain() {
  const [entry] = performance.getEntriesByType("navigation");
  return entry instanceof PerformanceNavigationTiming && ["reload", "back_forward"].includes(entry.type);
}

/** Which tab was open: "text" or "file". */
export function keptMode() {
  return read(() => sessionStorage.getItem(STORED_MODE)) === "file" ? "file" : "text";
}

/** @param {string} mode */
export function keepMode(mode) {
  write(sessionStorage, STORED_MODE, mode);
}

/**
 * @template T
 * @param {() => T} get
 * @returns {T | null}
 */
function read(get) {
  try {
    return get();
  } catch {
    return null; // storage is switched off, or holds something else
  }
}

/** @param {Storage} storage @param {string} key @param {string | null} value */
function write(storage, key, value) {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, value);
  } catch {
    // It holds for this page, then.
  }
}
