// Elements made without markup: whatever a text holds, it goes in as text.

/** @typedef {string | Node | null | undefined | false} Child */

/**
 * Make an element: its tag and classes (`p.note`), perhaps its attributes, and its children. A function under `onclick`
 * and the like becomes a listener; `true` sets an attribute, `false` and null leave it out.
 * @param {string} selector
 * @param {(Record<string, any> | Child)[]} rest
 */
export function make(selector, ...rest) {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag);
  element.classList.add(...classes);
  const plain = rest[0] && Object.getPrototypeOf(rest[0]) === Object.prototype;
  for (const [key, value] of Object.entries(plain ? rest.shift() : {})) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, key.startsWith("aria-") ? "true" : "");
    else if (value !== false && value != null) element.setAttribute(key, String(value));
  }
  element.append(...present(rest));
  return element;
}

/** @param {Child | Child[]} label @param {(event: Event) => void} onclick @param {Record<string, any>} [attributes] */
export function button(label, onclick, attributes = {}) {
  return make("button", { type: "button", onclick, ...attributes }, ...[label].flat());
}

/** Words for screen readers only. @param {string} text */
export function unseen(text) {
  return make("span.unseen", text);
}

/** A name of the user's own, whose direction of writing stays inside it. @param {string} text */
export function bdi(text) {
  return make("bdi", text);
}

/** @param {string} id @returns {any} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

/** Put new children in place of the old; the focus stays on the element with the same `data-key`.
 * @param {Element} element @param {Child[]} children */
export function fill(element, ...children) {
  const focused = document.activeElement;
  const key = element.contains(focused) ? focused?.dataset.key : undefined;
  element.replaceChildren(...present(children));
  if (key !== undefined) element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

/** @param {Child[]} children */
function present(children) {
  return children.filter((child) => child != null && child !== false);
}

/** A list to choose from. @param {string} label @param {[value: string, label: string][]} options */
export function select(label, options, chosen, choose) {
  const list = make("select", { "data-key": label, onchange: () => choose(list.value) });
  for (const [value, words] of options) list.append(make("option", { value, selected: value === chosen }, words));
  return make("label.pick", make("span", label), list);
}

/** Save a file. @param {string} name @param {BlobPart[]} parts @param {string} type */
export function save(name, parts, type) {
  const held = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: held, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(held), 60_000);
}

/** Put words on the clipboard, by the older way where the page is not served by https. @param {string} words */
export async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    const field = make("textarea.unseen", { "aria-hidden": true });
    field.value = words;
    document.body.append(field);
    field.select();
    const worked = document.execCommand("copy");
    field.remove();
    return worked;
  }
}

/** A number of things: "1 row", "1,200 rows". @param {number} number @param {string} noun */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** What the browser stores under a name; null where there is nothing that can be used.
 * @param {Storage} storage @param {string} name */
export function stored(storage, name) {
  try {
    return JSON.parse(storage.getItem(name) ?? "null");
  } catch {
    return null; // switched off, or something else is there
  }
}

/** Store a value, or forget it where it is null; whether that worked. @param {Storage} storage @param {string} name */
export function store(storage, name, value) {
  try {
    if (value === null) storage.removeItem(name);
    else storage.setItem(name, JSON.stringify(value));
    return true;
  } catch {
    return false; // switched off, or full: it holds for this page, then
  }
}
