// Elements made without markup: whatever a text holds, it goes in as text.

/**
 * @typedef {string | Node | null | undefined | false} Child
 */

/**
 * An element with attributes and children. A function under `onclick` and the like becomes a listener; `true` sets an
 * attribute, `false` and null leave it out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, name.startsWith("aria-") ? "true" : "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...present(children));
  return element;
}

/**
 * @param {string} label
 * @param {(event: Event) => void} onclick
 * @param {Record<string, any>} [attributes]
 */
export function button(label, onclick, attributes = {}) {
  return make("button", { type: "button", onclick, ...attributes }, label);
}

/**
 * A chip that is on or off: a check mark or a plus says which, not colour alone.
 * @param {Child} label
 * @param {boolean} on
 * @param {(event: Event) => void} onclick
 * @param {Record<string, any>} attributes with a class
 */
export function toggle(label, on, onclick, attributes) {
  return make(
    "button",
    { type: "button", onclick, "aria-pressed": String(on), ...attributes },
    make("span", { class: "on-off", "aria-hidden": true }, on ? "✓" : "+"),
    label,
  );
}

/** Words for screen readers only. @param {string} text */
export function unseen(text) {
  return make("span", { class: "unseen" }, text);
}

/** A name of the user's own, whose direction of writing stays inside it. @param {string} text */
export function name(text) {
  return make("bdi", {}, text);
}

/** Puts new children in place of the old. @param {Element} element @param {Child[]} children */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

/** @param {string} id @returns {any} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

/**
 * One choice of several, as radio buttons in a row.
 * @param {{legend: string, group: string, options: {value: string, label: Child, hint?: string}[], chosen: string,
 *          choose: (value: string) => void}} what
 */
export function radios({ legend, group, options, chosen, choose }) {
  const labels = options.map(({ value, label, hint }) =>
    make(
      "label",
      { title: hint },
      make("input", {
        type: "radio",
        name: group,
        value,
        checked: value === chosen,
        "data-key": `${group} ${value}`,
        onchange: () => choose(value),
      }),
      make("span", {}, label),
    ),
  );
  return make("fieldset", { class: "segments" }, make("legend", {}, legend), make("div", {}, ...labels));
}

/** @param {Child[]} children @returns {(string | Node)[]} */
function present(children) {
  return /** @type {(string | Node)[]} */ (children.filter((child) => child != null && child !== false));
}

/**
 * Draws a part of the page again; the focus stays on the element with the same `data-key`.
 * @param {HTMLElement} container
 * @param {Child[]} children
 */
export function redraw(container, ...children) {
  const focused = document.activeElement;
  const key = focused instanceof HTMLElement && container.contains(focused) ? focused.dataset.key : undefined;
  fill(container, ...children);
  if (key !== undefined) {
    const again = container.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }
}
