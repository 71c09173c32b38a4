// Who may be judged: chips that are on, chips that are offered, and a field to add more.

import { button, byId, fill, make, name, toggle, unseen } from "./dom.js";
import { readTargets, sameName } from "./text.js";

/** @typedef {import("./text.js").Target} Target */

const MOST_OFFERED = 12;

/** @param {Target[]} targets @param {string} asked */
const has = (targets, asked) =>
  targets.some((target) => [target.name, ...target.aliases].some((known) => sameName(known, asked)));

/** The words of a name, with spaces around each. @param {string} name */
const words = (name) =>
  ` ${name
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .join(" ")} `;

/** Whether a name is in that of a target, as Pixel is in Pixel 9. @param {Target[]} targets @param {string} found */
const within = (targets, found) =>
  targets.some((target) => [target.name, ...target.aliases].some((known) => words(known).includes(words(found))));

/** Targets with more of them at the end, none twice; other names go to the one they are of. @param {Target[]} targets @param {Target[]} more */
function added(targets, more) {
  return more.reduce((all, target) => {
    const fresh = target.aliases.filter((alias) => !has(all, alias));
    if (!has(all, target.name)) return [...all, target];
    if (!fresh.length) return all;
    return all.map((one) => (has([one], target.name) ? { ...one, aliases: [...one.aliases, ...fresh] } : one));
  }, targets);
}

/**
 * @param {{change: (targets: Target[]) => void, say: (words: string) => void}} what
 */
export function attachTargets({ change, say }) {
  const field = byId("add-target");
  const list = byId("targets");
  const offered = byId("suggestions");
  /** @type {Target[]} */
  let targets = [];
  /** @type {string[]} what the text names */
  let suggested = [];
  /** @type {Map<string, number>} how many texts of a table do */
  let counts = new Map();
  /** @type {Target[]} what was switched off, and can be switched on again */
  let off = [];
  let leaving = 0;

  /** @param {Target[]} more */
  function add(more) {
    const all = added(targets, more);
    const news = all.some((one, place) => one !== targets[place]);
    if (more.length) say(news ? `Added ${names(more)}.` : `${names(more)} is a target already.`);
    if (news) change(all);
  }

  /** @param {number} place */
  function remove(place) {
    const gone = targets[place];
    off = [...off.filter((one) => !sameName(one.name, gone.name)), gone];
    change(targets.filter((_, other) => other !== place));
    say(`${gone.name} is off.`);
    const buttons = list.querySelectorAll("button");
    (buttons[Math.min(place, buttons.length - 1)] ?? field).focus();
  }

  function enter() {
    const typed = readTargets(field.value);
    field.value = "";
    add(typed);
  }

  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    const several = field.value.includes("="); // then a comma parts other names
    if (event.key === "Enter" || (event.key === "," && !several && field.value.trim())) {
      event.preventDefault();
      enter();
    } else if (event.key === "Backspace" && field.value === "" && targets.length) {
      remove(targets.length - 1);
      field.focus();
    }
  });
  // A name that was typed and left counts as added, unless the way led to a suggestion, which completes it.
  field.addEventListener("blur", () => (leaving = setTimeout(enter, 250)));
  offered.addEventListener(
    "click",
    () => {
      clearTimeout(leaving);
      field.value = "";
    },
    { capture: true },
  );
  byId("targets-field").addEventListener("pointerup", (/** @type {Event} */ event) => {
    if (event.target === list || event.target === list.parentElement) field.focus();
  });

  function drawOffered() {
    const inText = suggested.filter((one) => !within(targets, one)).map((one) => ({ name: one, aliases: [] }));
    const fresh = added(inText.slice(0, MOST_OFFERED), off).filter((one) => !has(targets, one.name));
    const buttons = fresh.map((one) =>
      toggle(offer(one.name), false, () => add([one]), { class: "suggestion", "data-key": `off ${one.name}` }),
    );
    const all = inText.length > 1 && button("Add all", () => add(inText), { class: "link-button" });
    offered.hidden = !fresh.length;
    fill(offered, ...buttons, all);
  }

  /** @param {string} found */
  function offer(found) {
    const texts = counts.get(found);
    if (texts === undefined) return name(found);
    const told = make("small", {}, ` ${texts.toLocaleString("en")}`, unseen(texts === 1 ? " text" : " texts"));
    return make("span", {}, name(found), told);
  }

  return {
    /** @param {Target[]} now */
    show(now) {
      targets = now;
      fill(list, ...now.map((target, place) => chip(target, () => remove(place))));
      field.placeholder = now.length ? "Add another" : "Add a name";
      drawOffered();
    },
    /** @param {string[]} found @param {Map<string, number>} [texts] how many of a table's have each */
    suggest(found, texts = new Map()) {
      [suggested, counts] = [found, texts];
      drawOffered();
    },
    /** What was switched off belongs to a text that is gone. */
    forget() {
      off = [];
    },
    /** Begins to write another name of a target. @param {string} target */
    alias(target) {
      field.value = `${target.replace(/[\\=,;]/g, "\\$&")}=`;
      field.focus();
    },
    add,
  };
}

/** @param {Target} target @param {() => void} remove */
function chip(target, remove) {
  const also = target.aliases.length > 0 && make("small", {}, "also ", name(target.aliases.join(", ")));
  const content = make("span", {}, name(target.name), also);
  return make("li", {}, toggle(content, true, remove, { class: "chip", title: "On: click to switch it off" }));
}

/** @param {Target[]} targets */
function names(targets) {
  return targets.map((target) => target.name).join(", ");
}
