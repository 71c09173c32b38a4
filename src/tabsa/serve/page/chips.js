// Names as chips: those that are chosen, those that are offered, and a field to add more.

import { bdi, button, fill, make, unseen } from "./dom.js";
import { sameName } from "./text.js";

/** @typedef {{name: string, aliases: string[], texts?: number}} Item `texts`: how many of a table's have the name */

const MOST_OFFERED = 12;

/** @param {Item[]} items @param {string} name */
const has = (items, name) => items.some((item) => [item.name, ...item.aliases].some((known) => sameName(known, name)));

/** @param {Item[]} items */
const names = (items) => items.map(({ name }) => name).join(", ");

/** Items with more of them at the end, none twice; other names go to the one they are of.
 * @param {Item[]} items @param {Item[]} more */
export function joined(items, more) {
  return more.reduce((all, item) => {
    if (!has(all, item.name)) return [...all, item];
    const fresh = item.aliases.filter((alias) => !has(all, alias));
    return all.map((one) =>
      fresh.length && has([one], item.name) ? { ...one, aliases: [...one.aliases, ...fresh] } : one,
    );
  }, items);
}

/**
 * @param {{into: HTMLElement, noun: string, help: string, read: (typed: string) => Item[],
 *          add?: (chosen: Item[], more: Item[]) => Item[], change: (chosen: Item[]) => void,
 *          say: (words: string) => void}} what
 *   `read`: items from what was typed
 */
export function attachChips({ into, noun, help, read, add = joined, change, say }) {
  const list = make("ul.chips", { "aria-label": `Chosen ${noun}s` });
  const offers = make("div.chips", { role: "group", "aria-label": `More ${noun}s` });
  const field = make("input", {
    ...{ type: "text", id: `add-${noun}`, dir: "auto", autocomplete: "off", spellcheck: "false", enterkeyhint: "done" },
    ...{ "aria-label": `Add: ${noun}`, "aria-describedby": `${noun}-help`, placeholder: help.split(".")[0] },
  });
  let chosen = [];
  let offered = [];
  let removed = []; // these can be taken back
  fill(into, list, offers, field, make("p.unseen", { id: `${noun}-help` }, `Press Enter. ${help}`));

  /** @param {Item[]} more */
  function take(more) {
    if (!more.length) return; // a field that was left empty changes nothing
    const all = add(chosen, more);
    const news = all.length !== chosen.length || all.some((one, place) => one !== chosen[place]);
    say(news ? `Added ${names(more)}.` : `${names(more)} is there already.`);
    if (news) change(all);
  }

  /** @param {number} place */
  function remove(place) {
    const [gone] = chosen.slice(place, place + 1);
    removed = [...removed, gone];
    change(chosen.filter((one) => one !== gone));
    say(`Removed ${gone.name}.`);
    const buttons = list.querySelectorAll("button");
    (buttons[Math.min(place, buttons.length - 1)] ?? field).focus();
  }

  function enter() {
    const typed = read(field.value);
    field.value = "";
    take(typed);
  }

  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    const several = field.value.includes("="); // then a comma parts other names
    if (event.key === "Enter" || (event.key === "," && !several && field.value.trim())) {
      event.preventDefault();
      enter();
    } else if (event.key === "Backspace" && !field.value && chosen.length) {
      remove(chosen.length - 1);
      field.focus();
    }
  });
  field.addEventListener("blur", (/** @type {FocusEvent} */ event) => {
    if (offers.contains(event.relatedTarget)) field.value = ""; // a suggestion completes what was typed
    else enter();
  });

  function draw() {
    const chips = chosen.map((item, place) => {
      const also = item.aliases.length > 0 && make("small", "also ", bdi(item.aliases.join(", ")));
      const label = [bdi(item.name), also, make("span.sign", { "aria-hidden": true }, "×"), unseen(", remove")];
      return make("li", button(label, () => remove(place), { class: "chip", title: `Remove ${item.name}` }));
    });
    fill(list, ...chips);
    const fresh = joined(offered.slice(0, MOST_OFFERED), removed).filter(({ name }) => !within(chosen, name));
    const more = fresh.map((item) => {
      const texts = item.texts && make("small", item.texts.toLocaleString("en"), unseen(" texts"));
      const label = [make("span.sign", { "aria-hidden": true }, "+"), unseen("Add "), bdi(item.name), texts];
      return button(label, () => take([item]), { class: "chip offer", "data-key": item.name });
    });
    fill(offers, ...more, fresh.length > 1 && button("Add all", () => take(fresh), { class: "link-button" }));
  }

  return {
    field,
    take,
    /** @param {Item[]} now */
    show(now) {
      chosen = now;
      removed = removed.filter(({ name }) => !has(now, name));
      draw();
    },
    /** @param {Item[]} items */
    offer(items) {
      offered = items;
      draw();
    },
    /** Another question is shown: what was removed there is not missing here. */
    forget() {
      removed = [];
    },
    /** Begin to write something. @param {string} words */
    begin(words) {
      field.value = words;
      field.focus();
    },
  };
}

/** The words of a name, with spaces around each. @param {string} name */
const words = (name) => ` ${name.toLowerCase().split(/[^\p{L}\p{N}]+/u).join(" ")} `;

/** Whether a name is in that of an item, as Pixel is in Pixel 9. @param {Item[]} items @param {string} found */
function within(items, found) {
  return items.some((item) => [item.name, ...item.aliases].some((known) => words(known).includes(words(found))));
}
