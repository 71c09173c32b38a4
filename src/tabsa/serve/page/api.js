// The service: JSON in, JSON out, and one clear line when it cannot answer.

const STORED_KEY = "tabsa-key";
let key = storedKey();

/** Why there is no answer. */
export class Problem extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, field?: string | null, retry?: number | null}} [more] `retry`: seconds until it may work
   */
  constructor(message, { status = 0, field = null, retry = null } = {}) {
    super(message);
    this.status = status;
    this.field = field;
    this.retry = retry;
  }
}

/** Keeps the key for this tab, until it is closed. @param {string} given */
export function useKey(given) {
  key = given;
  try {
    sessionStorage.setItem(STORED_KEY, given);
  } catch {
    // It holds for this page, then.
  }
}

/** Whether requests carry a key. */
export function keyed() {
  return key !== "";
}

function storedKey() {
  try {
    return sessionStorage.getItem(STORED_KEY) ?? "";
  } catch {
    return ""; // storage is switched off
  }
}

/**
 * An answer of the service, whatever its type. Aborted requests raise an AbortError, everything else a Problem.
 * @param {string} path
 * @param {RequestInit} [request]
 * @returns {Promise<Response>}
 */
export async function call(path, request = {}) {
  const headers = new Headers(request.headers);
  if (key) headers.set("Authorization", `Bearer ${key}`);
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, { ...request, headers });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem("The service cannot be reached. Is tabsa serve still running?", { retry: 2 });
  }
  if (!response.ok) throw await problem(response);
  return response;
}

/** @param {string} path @param {RequestInit} [request] @returns {Promise<any>} */
export async function get(path, request) {
  return (await call(path, request)).json();
}

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return (await call(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

/** @param {unknown} error */
export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Anything thrown as a Problem, so that it can be shown. @param {unknown} error @returns {Problem} */
export function asProblem(error) {
  return error instanceof Problem ? error : new Problem("The service gave an answer that this page cannot read.");
}

/** @param {Response} response */
async function problem(response) {
  const { status } = response;
  let told = { message: `The service answered ${status} ${response.statusText}`.trim(), field: null };
  try {
    told = (await response.json()).error ?? told;
  } catch {
    // Something between the page and the service answered; its status is all there is to tell.
  }
  const waits = status === 429 || status >= 500;
  const seconds = Number(response.headers.get("Retry-After"));
  const retry = waits ? Math.min(Math.max(seconds || 3, 1), 60) : null;
  return new Problem(told.message, { status, field: told.field, retry });
}
