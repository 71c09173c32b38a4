// What the theme leaves out for those who do not use a mouse, or do not see the page.
const mended = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const scroller of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) {
    if (scroller.scrollWidth > scroller.clientWidth) scroller.tabIndex = 0; // scrolls with the arrow keys
  }
  document.querySelector(".md-nav--primary .md-nav--secondary")?.setAttribute("aria-label", "On this page");
  document.querySelectorAll(".md-code__nav").forEach((nav, number) => nav.setAttribute("aria-label", `Code ${number + 1}`));
};
if (location.protocol === "file:") {
  // A browser lets no page from the disk read the index, so there is no search box that would find nothing.
  for (const one of document.querySelectorAll(".md-search, label[for=__search]")) one.hidden = true;
}
window.addEventListener("load", () => {
  mended();
  new MutationObserver(mended).observe(document.body, { childList: true, subtree: true }); // the theme adds more as one scrolls
});
