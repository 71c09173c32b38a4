// Who and on what, folded into a line where the window is narrow, so that the answers come into view.

import { byId } from "./dom.js";

export function attachFolding() {
  const box = /** @type {HTMLDetailsElement} */ (byId("asked"));
  const wide = matchMedia("(min-width: 62rem)");
  let mode = "text";
  let folded = false; // as it was last asked for in a narrow window

  function apply() {
    box.open = wide.matches || mode === "file" || !folded;
  }

  wide.addEventListener("change", apply);
  box.addEventListener("toggle", () => {
    if (!wide.matches && mode === "text") folded = !box.open;
  });

  return {
    /** @param {number} targets @param {number} aspects how many there are */
    tell(targets, aspects) {
      const who = targets === 1 ? "1 target" : `${targets} targets`;
      byId("asked-told").textContent = `${who}, ${aspects === 1 ? "1 aspect" : `${aspects} aspects`}`;
    },
    /** A view was loaded: what it asks need not be seen where it is complete. @param {boolean} complete */
    loaded(complete) {
      folded = complete;
      apply();
    },
    open() {
      folded = false;
      apply();
    },
    /** @param {string} now */
    mode(now) {
      mode = now;
      apply();
    },
  };
}
