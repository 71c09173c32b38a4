// Who may be judged: chips, a field to add more, and the names that the text suggests.

import { button, byId, fill, make, name, unseen } from "./dom.js";
import { readTargets, sameName } from "./text.js";

/** @typedef {import("./text.js").Target} Target */

const MOST_SUGGESTED = 12;

/** @param {Target[]} targets @param {string} asked */
const has = (targets, asked) =>
  targets.some((target) => [target.name, ...target.aliases].some((known) => sameName(known, asked)));

/** The words of a name, with spaces around each. @param {string} name */
const words = (name) => ` ${name.toLowerCase().split(/[^\p{L}\p{N}]+/u).join(" ")} `;

/** Whether a name is in that of a target, as Pixel is in Pixel 9. @param {Target[]} targets @param {string} found */
const within = (targets, found) =>
  targets.some((target) => [target.name, ...target.aliases].some((known) => words(known).includes(words(found))));

/** Targets with more of them at the end, none twice. @param {Target[]} targets @param {Target[]} more */
function added(targets, more) {
  return more.reduce((all, target) => (has(all, target.name) ? all : [...all, target]), targets);
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
  /** @type {string[]} */
  let suggested = [];
  let leaving = 0;

  /** @param {Target[]} more */
  function add(more) {
    const all = added(targets, more);
    if (more.length) say(all.length > targets.length ? `Added ${names(more)}.` : `${names(more)} is a target already.`);
    if (all.length > targets.length) change(all);
  }

  /** @param {number} place */
  function remove(place) {
    const [gone] = targets.slice(place);
    change(targets.filter((_, other) => other !== place));
    say(`Removed ${gone.name}.`);
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

  function drawSuggestions() {
    const fresh = suggested.filter((one) => !has(targets, one) && !within(targets, one)).slice(0, MOST_SUGGESTED);
    const as = (/** @type {string} */ one) => ({ name: one, aliases: [] });
    const buttons = fresh.map((one) =>
      make(
        "button",
        { type: "button", class: "suggestion", onclick: () => add([as(one)]) },
        make("span", { "aria-hidden": true }, "+ "),
        unseen("Add "),
        name(one),
      ),
    );
    const all = fresh.length > 1 && button("Add all", () => add(fresh.map(as)), { class: "link-button" });
    offered.hidden = !fresh.length;
    fill(offered, make("span", {}, "In the text:"), ...buttons, all);
  }

  return {
    /** @param {Target[]} now */
    show(now) {
      targets = now;
      fill(list, ...now.map((target, place) => chip(target, () => remove(place))));
      field.placeholder = now.length ? "Add another" : "Add a name";
      drawSuggestions();
    },
    /** @param {string[]} found */
    suggest(found) {
      suggested = found;
      drawSuggestions();
    },
    add,
  };
}

/** @param {Target} target @param {() => void} remove */
function chip(target, remove) {
  const also = target.aliases.length > 0 && make("small", {}, "also ", name(target.aliases.join(", ")));
  return make(
    "li",
    { class: "chip" },
    name(target.name),
    also,
    button("×", remove, { "aria-label": `Remove ${target.name}` }),
  );
}

/** @param {Target[]} targets */
function names(targets) {
  return targets.map((target) => target.name).join(", ");
}
