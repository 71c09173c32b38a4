// Two tabs: a text, or a file.

import { byId } from "./dom.js";

/** @param {(mode: string) => void} changed */
export function attachTabs(changed) {
  const modes = ["text", "file"];
  const tabs = modes.map((mode) => byId(`tab-${mode}`));

  /** @param {string} mode */
  function open(mode) {
    byId("main").dataset.mode = mode;
    modes.forEach((other, place) => {
      tabs[place].setAttribute("aria-selected", String(other === mode));
      tabs[place].tabIndex = other === mode ? 0 : -1;
      byId(`panel-${other}`).hidden = other !== mode;
    });
    changed(mode);
  }

  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => open(modes[place]));
    tab.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
      const next = event.key === "Home" ? 0 : event.key === "End" ? 1 : 1 - place;
      event.preventDefault();
      open(modes[next]);
      tabs[next].focus();
    });
  });
  return { open };
}
