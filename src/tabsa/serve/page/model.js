// The model behind the service, as far as the page has to know it.

import { get } from "./api.js";
import { same } from "./text.js";

/**
 * @typedef {{name: string, kind: string, labels: string[], aspects: string[], aspect_lists: Record<string, string[]>,
 *            open_aspects: boolean, implied: boolean, chains: number | null}} Model
 *   `open_aspects`: an aspect may be any words; `implied`: trained on texts that do not name what they are about
 */

/** @type {Model} before the service has told */
export const UNKNOWN = Object.freeze({
  name: "",
  kind: "",
  labels: [],
  aspects: [],
  aspect_lists: {},
  open_aspects: false,
  implied: false,
  chains: null,
});

/** The service's model, and the name of its file of corrections. @returns {Promise<{model: Model, corrections: string | null}>} */
export async function askForModel() {
  const { models, default: chosen, corrections } = await get("v1/models");
  return { model: models.find((/** @type {Model} */ one) => one.name === chosen) ?? models[0], corrections };
}

/** @param {Model} model */
export function describe({ name, kind, chains, aspects, open_aspects: open }) {
  const memory = chains ? `, ${chains} memory chain${chains === 1 ? "" : "s"}` : "";
  const told = kind === name && !memory ? "" : ` (${kind}${memory})`;
  return `Model: ${name}${told}, ${open ? "any aspects" : `${aspects.length} aspects`}.`;
}

/** The aspects that a model can be asked; null where those are its own. @param {Model} model @param {string[] | null} asked */
export function among({ aspects, open_aspects: open }, asked) {
  if (open) return asked && same(asked, aspects) ? null : asked;
  const some = asked && aspects.filter((aspect) => asked.includes(aspect));
  return some && (some.length === aspects.length || (asked.length && !some.length)) ? null : some;
}
