// On what, in the user's own words: chips that are on or off, a field to add more, and lists to start from.

import { button, byId, fill, make, name, redraw, toggle } from "./dom.js";
import { readAspects, same, sameName } from "./text.js";

const LONGEST = 100; // characters, as in the service

/**
 * @param {{change: (aspects: string[] | null) => void, say: (words: string) => void}} what null: the model's own
 */
export function attachWordings({ change, say }) {
  const list = make("ul", { class: "chips", "aria-label": "Aspects" });
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
  const lists = make("div", { class: "lists", role: "group", "aria-label": "Ready lists of aspects" });
  /** @type {string[]} */
  let own = [];
  /** @type {Record<string, string[]>} */
  let named = {};
  /** @type {string[]} those that are asked for */
  let aspects = [];
  /** @type {string[]} those that have a chip, on or off */
  let offered = [];

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

  /** @param {string} aspect */
  function flip(aspect) {
    const on = aspects.includes(aspect);
    take(offered.filter((one) => (one === aspect ? !on : aspects.includes(one)))); // in the order of the chips
    say(`${aspect} is ${on ? "off" : "on"}.`);
  }

  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" || (event.key === "," && field.value.trim())) {
      event.preventDefault();
      enter();
    } else if (event.key === "Backspace" && field.value === "" && aspects.length) {
      flip(/** @type {string} */ (aspects.at(-1)));
      field.focus();
    }
  });
  field.addEventListener("blur", () => enter()); // what was typed and left counts as added
  byId("aspects-field").addEventListener("pointerup", (/** @type {Event} */ event) => {
    if (event.target === list.parentElement) field.focus();
  });

  /** @param {string} label @param {string[]} wanted */
  function pick(label, wanted) {
    const on = same(wanted, aspects);
    const begin = () => {
      offered = wanted;
      take(wanted);
      say(`${wanted.length} aspects: ${wanted.join(", ")}.`);
    };
    return button(on ? `✓ ${label}` : label, begin, {
      class: "list",
      "aria-pressed": String(on),
      "data-key": label,
      title: wanted.join(", "),
    });
  }

  /** @param {string} label @param {string[]} wanted */
  function all(label, wanted) {
    const act = () => {
      take(wanted);
      say(wanted.length ? `${wanted.length} aspects.` : "No aspects.");
    };
    return button(label, act, { class: "link-button", "data-key": label });
  }

  return {
    /** Where aspects are typed; shown once the model is known to be open. */
    field,
    /** Begins to take any words. @param {string[]} ofModel @param {Record<string, string[]>} byName */
    offer(ofModel, byName) {
      [own, named] = [ofModel, byName];
      const help = "Any words: press Enter, or put commas between several.";
      const box = make("div", { class: "chips-box" }, list, field);
      fill(byId("aspects"), lists, box, make("p", { class: "unseen", id: "aspect-help" }, help));
    },
    /** @param {string[] | null} chosen */
    show(chosen) {
      aspects = chosen ?? own;
      offered = [...offered, ...aspects.filter((one) => !offered.includes(one))];
      redraw(
        list,
        ...offered.map((aspect) =>
          make(
            "li",
            {},
            toggle(name(aspect), aspects.includes(aspect), () => flip(aspect), {
              class: aspects.includes(aspect) ? "chip" : "chip off",
              "data-key": `aspect ${aspect}`,
            }),
          ),
        ),
      );
      field.placeholder = aspects.length ? "Add another" : "Add any words";
      const known = Object.values(named).some((one) => same(one, own));
      const whole = aspects.length === offered.length;
      redraw(
        lists,
        make("span", {}, "Ready lists"),
        !known && pick("the model’s own", own),
        ...Object.entries(named).map(([label, wanted]) => pick(label, wanted)),
        all(whole ? "none" : "all", whole ? [] : offered),
      );
    },
    /** Another state is shown: chips that are off there are not those of the one before. */
    forget() {
      offered = [];
    },
  };
}

/** @param {string[]} aspects @param {string} asked */
function has(aspects, asked) {
  return aspects.some((one) => sameName(one, asked));
}
