// On what, in the user's own words: chips, a field to add more, and lists to start from.

import { button, byId, fill, make, name, redraw } from "./dom.js";
import { readAspects, same, sameName } from "./text.js";

const LONGEST = 100; // characters, as in the service

/**
 * @param {{change: (aspects: string[] | null) => void, say: (words: string) => void}} what null: the model's own
 */
export function attachWordings({ change, say }) {
  const list = make("ul", { class: "chips", "aria-label": "Aspects chosen" });
  const field = /** @type {HTMLInputElement} */ (
    make("input", {
      type: "text",
      id: "add-aspect",
      dir: "auto",
      "aria-label": "Add an aspect",
      "aria-describedby": "aspect-help",
      placeholder: "Add any words",
      autocomplete: "off",
      enterkeyhint: "done",
    })
  );
  const lists = make("div", { class: "lists", role: "group", "aria-label": "Lists of aspects" });
  /** @type {string[]} */
  let own = [];
  /** @type {Record<string, string[]>} */
  let named = {};
  /** @type {string[]} */
  let aspects = [];

  /** @param {string[]} now */
  function take(now) {
    change(same(now, own) ? null : now);
  }

  function enter() {
    const typed = readAspects(field.value);
    field.value = "";
    const unfit = typed.find((one) => one.length > LONGEST || !/[\p{L}\p{N}]/u.test(one));
    if (unfit) return say(`An aspect is a few words, of at most ${LONGEST} characters.`);
    const all = typed.reduce((some, one) => (has(some, one) ? some : [...some, one]), aspects);
    if (typed.length) {
      const told = typed.join(", ");
      say(all.length > aspects.length ? `Added ${told}.` : `${told} is an aspect already.`);
    }
    if (all.length > aspects.length) take(all);
  }

  /** @param {number} place */
  function remove(place) {
    const gone = aspects[place];
    take(aspects.filter((_, other) => other !== place));
    say(`Removed ${gone}.`);
    const buttons = list.querySelectorAll("button");
    (buttons[Math.min(place, buttons.length - 1)] ?? field).focus();
  }

  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" || (event.key === "," && field.value.trim())) {
      event.preventDefault();
      enter();
    } else if (event.key === "Backspace" && field.value === "" && aspects.length) {
      remove(aspects.length - 1);
      field.focus();
    }
  });
  field.addEventListener("blur", () => enter()); // what was typed and left counts as added
  byId("aspects-field").addEventListener("pointerup", (/** @type {Event} */ event) => {
    if (event.target === list.parentElement) field.focus();
  });

  /** @param {string} label @param {string[]} wanted */
  function offered(label, wanted) {
    const pick = () => {
      take(wanted);
      say(wanted.length ? `${wanted.length} aspects: ${wanted.join(", ")}.` : "No aspects.");
    };
    const pressed = wanted.length > 0 && String(same(wanted, aspects));
    return button(label, pick, { class: "link-button", "aria-pressed": pressed, "data-key": label });
  }

  return {
    /** Where aspects are typed; shown once the model is known to be open. */
    field,
    /** Begins to take any words. @param {string[]} ofModel @param {Record<string, string[]>} byName */
    offer(ofModel, byName) {
      [own, named] = [ofModel, byName];
      const help = "Any words: press Enter, or put commas between several.";
      const box = make("div", { class: "chips-box" }, list, field);
      fill(byId("aspects"), box, make("p", { class: "unseen", id: "aspect-help" }, help), lists);
    },
    /** @param {string[] | null} chosen */
    show(chosen) {
      aspects = chosen ?? own;
      fill(list, ...aspects.map((aspect, place) => chip(aspect, () => remove(place))));
      field.placeholder = aspects.length ? "Add another" : "Add any words";
      const known = Object.values(named).some((one) => same(one, own));
      redraw(
        lists,
        make("span", {}, "Lists:"),
        !known && offered("the model’s own", own),
        ...Object.entries(named).map(([label, wanted]) => offered(label, wanted)),
        offered("none", []),
      );
    },
  };
}

/** @param {string} aspect @param {() => void} remove */
function chip(aspect, remove) {
  return make("li", { class: "chip" }, name(aspect), button("×", remove, { "aria-label": `Remove ${aspect}` }));
}

/** @param {string[]} aspects @param {string} asked */
function has(aspects, asked) {
  return aspects.some((one) => sameName(one, asked));
}
