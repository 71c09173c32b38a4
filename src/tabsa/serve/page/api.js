// The service: JSON in, JSON out, and one clear line when it cannot answer.

import { store, stored } from "./dom.js";

const STORED_KEY = "tabsa-key";
let key = sessionValue();

/** Why there is no answer. `retry`: seconds until it may work, null where it never will. */
export class Problem extends Error {
  constructor(message, { status = 0, field = null, retry = null } = {}) {
    super(message);
    Object.assign(this, { status, field, retry });
  }
}

/** Keep the key for this tab, until it is closed. @param {string} given */
export function useKey(given) {
  key = given;
  store(sessionStorage, STORED_KEY, given);
}

/** Whether requests carry a key. */
export const keyed = () => key !== "";

function sessionValue() {
  const found = stored(sessionStorage, STORED_KEY);
  return typeof found === "string" ? found : "";
}

/** An answer of the service, whatever its type. Aborted requests raise an AbortError, everything else a Problem.
 * @param {string} path @param {RequestInit} [request] */
export async function call(path, request = {}) {
  const headers = new Headers(request.headers);
  if (key) headers.set("Authorization", `Bearer ${key}`);
  let response;
  try {
    response = await fetch(path, { ...request, headers });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem("The service cannot be reached. Is tabsa serve still running?", { retry: 2 });
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export async function post(path, body, signal) {
  const form = body instanceof FormData;
  const headers = form ? {} : { "Content-Type": "application/json" };
  return (await call(path, { method: "POST", headers, body: form ? body : JSON.stringify(body), signal })).json();
}

/** The objects of an answer in JSON Lines, as they come. @param {Response} response */
export async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const parts = (rest + piece.value).split("\n");
    rest = parts.pop();
    for (const line of parts) if (line) yield JSON.parse(line);
  }
}

export const isAbort = (error) => error?.name === "AbortError";

/** Anything thrown as a Problem, so that it can be shown. */
export function asProblem(error) {
  return error instanceof Problem ? error : new Problem("The service gave an answer that this page cannot read.");
}

/** @param {Response} response */
async function problemOf(response) {
  const { status } = response;
  let found = { message: `The service answered ${status} ${response.statusText}`.trim(), field: null };
  try {
    found = (await response.json()).error ?? found;
  } catch {
    // Something between the page and the service answered; its status is all there is to tell.
  }
  const seconds = Number(response.headers.get("Retry-After"));
  const retry = status === 429 || status >= 500 ? Math.min(Math.max(seconds || 3, 1), 60) : null;
  return new Problem(found.message, { status, field: found.field, retry });
}

/**
 * Ask a question a moment after it was last asked for; an older one is stopped, and its answer is never seen.
 * @param {{run: (signal: AbortSignal) => Promise<any>, answered: (answer: any) => void,
 *          failed: (problem: Problem) => void, busy?: (busy: boolean) => void, delay?: number}} what
 */
export function latest({ run, answered, failed, busy = () => {}, delay = 200 }) {
  let timer = 0;
  let current = null;

  async function start() {
    const controller = (current = new AbortController());
    busy(true);
    try {
      const answer = await run(controller.signal);
      if (controller !== current) return;
      busy(false);
      answered(answer);
    } catch (error) {
      if (controller !== current || isAbort(error)) return;
      busy(false);
      failed(asProblem(error));
    }
  }

  function stop() {
    clearTimeout(timer);
    current?.abort();
    current = null;
    busy(false);
  }

  return {
    /** @param {number} [wait] milliseconds */
    ask(wait = delay) {
      stop();
      timer = setTimeout(start, wait);
    },
    stop,
  };
}
