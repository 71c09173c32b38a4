// Who may be judged, and on what: chips for both, ready lists of aspects, and whether the text names its target at all.

import { attachChips, joined } from "./chips.js";
import { button, byId, count, fill, make } from "./dom.js";
import { rememberAspects } from "./state.js";
import { escaped, readAspects, readTargets, same } from "./text.js";

const LONGEST = 100; // characters, as in the service
const FOLDED = "(max-width: 61.99rem)"; // where the form takes the room of the answers

/** @typedef {{name: string, kind: string, labels: string[], aspects: string[], aspect_lists: Record<string, string[]>,
 *             open_aspects: boolean, implied: boolean}} Model
 *   `open_aspects`: an aspect may be any words; `implied`: trained on texts that do not name what they are about */

/** @type {Model} before the service has answered */
export const UNKNOWN = {
  ...{ name: "", kind: "", labels: [], aspects: [], aspect_lists: {} },
  ...{ open_aspects: false, implied: false },
};

/** @param {{change: (patch: object) => void, say: (words: string) => void}} what */
export function attachQuestions({ change, say }) {
  const box = byId("questions");
  const lists = byId("lists");
  let model = UNKNOWN;
  /** @type {string[] | null} null: the model's own, untouched */
  let chosen = null;

  const targets = attachChips({
    into: byId("targets"),
    noun: "target",
    help: "Add a name. Other names for it go after an equals sign, as in Stoke Newington=Stokey.",
    read: readTargets,
    change: (now) => change({ targets: now }),
    say,
  });
  const aspects = attachChips({
    into: byId("aspects"),
    noun: "aspect",
    help: "Add any words. Commas part several.",
    read: (typed) => items(readAspects(typed).filter((one) => one.length <= LONGEST && /[\p{L}\p{N}]/u.test(one))),
    add: (now, more) => joined(chosen ? now : [], more), // the first of one's own replaces what was only a beginning
    change: (now) => take(now.map(({ name }) => name)),
    say,
  });

  /** @param {string[]} now */
  function take(now) {
    const ordered = model.open_aspects ? now : model.aspects.filter((one) => now.includes(one));
    const own = same(ordered, model.aspects) ? null : ordered;
    if (model.open_aspects) rememberAspects(own);
    change({ aspects: own });
  }

  function drawLists() {
    const entries = Object.entries(model.aspect_lists);
    if (!entries.some(([, one]) => same(one, model.aspects))) entries.unshift(["the model’s own", model.aspects]);
    const buttons = entries.map(([label, wanted]) => {
      const on = same(wanted, chosen ?? model.aspects);
      const start = () => {
        aspects.forget();
        take(wanted);
        say(`${count(wanted.length, "aspect")}: ${wanted.join(", ")}.`);
      };
      return button(label, start, { "aria-pressed": String(on), "data-key": label, title: wanted.join(", ") });
    });
    lists.hidden = !model.open_aspects;
    fill(lists, make("span", "Ready lists"), ...buttons);
  }

  byId("implied").addEventListener("change", () => {
    const { checked } = byId("implied");
    change({ implied: checked === model.implied ? null : checked });
  });

  return {
    targets,
    aspectField: aspects.field,
    /** @param {Model} now */
    use(now) {
      model = now;
      aspects.field.hidden = !model.open_aspects;
      aspects.offer(model.open_aspects ? [] : items(model.aspects));
    },
    /** @param {import("./state.js").State} state */
    show(state) {
      chosen = state.aspects;
      const now = chosen ?? model.aspects;
      targets.show(state.targets);
      aspects.show(items(now));
      drawLists();
      byId("implied").checked = state.implied ?? model.implied;
      const names = state.targets.map(({ name }) => name).join(", ");
      const who = names || (state.implied ? "What it is about" : "Names");
      fill(byId("questions-summary"), make("strong", who), ` on ${count(now.length, "aspect")}`);
    },
    /** Another question is shown. */
    forget() {
      targets.forget();
      aspects.forget();
    },
    /** Begin to write another name of a target. @param {string} target */
    alias(target) {
      box.open = true;
      targets.begin(`${escaped(target)}=`);
    },
    /** Make room for the answers where there is little, unless somebody is at it; whether there is room now.
     * @param {boolean} complete */
    fold(complete) {
      if (!matchMedia(FOLDED).matches || !complete) box.open = true;
      else if (!box.contains(document.activeElement)) box.open = false;
      return !box.open;
    },
  };
}

/** @param {string[]} names */
function items(names) {
  return names.map((name) => ({ name, aliases: [] }));
}
