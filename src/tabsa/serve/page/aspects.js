// On what: some of the model's aspects, or all.

import { button, byId, fill, make, unseen } from "./dom.js";

/** @param {(aspects: string[] | null) => void} change null means all */
export function attachAspects(change) {
  const field = byId("aspects");

  /** @param {string[]} known @param {string[] | null} chosen */
  function show(known, chosen) {
    const on = new Set(chosen ?? known);
    /** @param {string} aspect @param {boolean} checked */
    const toggle = (aspect, checked) => {
      if (checked) on.add(aspect);
      else on.delete(aspect);
      change(on.size === known.length ? null : known.filter((one) => on.has(one)));
    };
    const boxes = known.map((aspect) => {
      const box = make("input", { type: "checkbox", value: aspect, checked: on.has(aspect) });
      box.addEventListener("change", () => toggle(aspect, /** @type {HTMLInputElement} */ (box).checked));
      return make("label", { class: "aspect" }, box, make("span", {}, aspect));
    });
    const whole = on.size === known.length;
    /** @param {string[] | null} aspects */
    const pick = (aspects) => () => {
      change(aspects);
      show(known, aspects);
      field.querySelector("button")?.focus();
    };
    const all = button(whole ? "None" : "All", pick(whole ? [] : null), { class: "link-button" });
    all.append(unseen(" of the aspects"));
    fill(field, ...boxes, known.length > 1 && all);
  }

  return { show };
}
