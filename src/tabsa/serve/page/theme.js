// Light, dark, or as the system has it; loaded before the page is drawn.

import { store, stored } from "./dom.js";

const STORED = "tabsa-theme";
const NEXT = { automatic: "light", light: "dark", dark: "automatic" };

let theme = Object.hasOwn(NEXT, stored(localStorage, STORED) ?? "") ? stored(localStorage, STORED) : "automatic";
document.documentElement.dataset.theme = theme;

/** @param {HTMLElement} toggle */
export function attachTheme(toggle) {
  const label = () => (toggle.textContent = `Theme: ${theme}`);
  label();
  toggle.addEventListener("click", () => {
    theme = NEXT[theme];
    document.documentElement.dataset.theme = theme;
    store(localStorage, STORED, theme);
    label();
  });
}
