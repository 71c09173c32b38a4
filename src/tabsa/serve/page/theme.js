// Light, dark, or as the system has it.

const STORED = "tabsa-theme";
/** @typedef {"automatic" | "light" | "dark"} Theme */
/** @type {Record<Theme, Theme>} */
const NEXT = { automatic: "light", light: "dark", dark: "automatic" };

/** @returns {Theme} */
function stored() {
  try {
    const theme = localStorage.getItem(STORED);
    return theme === "light" || theme === "dark" ? theme : "automatic";
  } catch {
    return "automatic"; // storage is switched off
  }
}

/** @param {Theme} theme */
function apply(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(STORED, theme);
  } catch {
    // It holds for this page, then.
  }
}

let theme = stored();
apply(theme);

/** @param {HTMLElement} toggle */
export function attachTheme(toggle) {
  const label = () => (toggle.textContent = `Theme: ${theme}`);
  label();
  toggle.addEventListener("click", () => {
    theme = NEXT[theme];
    apply(theme);
    label();
  });
}
