// The filter of the sentences. Everything is in the page before this runs: it only hides and shows.

const form = /** @type {HTMLFormElement | null} */ (document.getElementById("filter"));
const groups = /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll("details.group")]);
const quotes = groups.map((group) => {
  const items = /** @type {HTMLElement[]} */ ([...group.querySelectorAll("li")]);
  return items.map((item) => ({ item, words: (item.textContent ?? "").toLowerCase() }));
});
const opened = groups.map((group) => group.open);

/** @param {HTMLFormElement} filter */
function show(filter) {
  const chosen = new FormData(filter);
  const word = String(chosen.get("word")).trim().toLowerCase();
  const filtered = ["target", "aspect", "polarity"].some((name) => chosen.get(name)) || word !== "";
  let fitting = 0;
  groups.forEach((group, place) => {
    const wanted = ["target", "aspect"].every((name) => !chosen.get(name) || group.dataset[name] === chosen.get(name));
    let found = 0;
    for (const { item, words } of quotes[place]) {
      const polarity = chosen.get("polarity");
      const fits = wanted && (!polarity || item.dataset.polarity === polarity) && words.includes(word);
      item.hidden = !fits;
      if (fits) found += 1;
    }
    group.hidden = found === 0;
    group.open = filtered ? fitting < 40 : opened[place];
    fitting += found;
  });
  const status = /** @type {HTMLElement} */ (document.getElementById("matches"));
  status.textContent = filtered ? `${fitting} of ${status.dataset.all} fit` : (status.dataset.all ?? "");
}

if (form) {
  form.hidden = false;
  // Typing is an input, choosing a change: some browsers send one before the value is new.
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => show(form));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => show(form)));
}

// A cell leads to its sentences, whatever the filter hides and whatever is folded.
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".heat a"))) {
  link.addEventListener("click", () => {
    opened[groups.findIndex((group) => group.querySelector(link.hash))] = true;
    form?.reset();
    if (form) show(form);
  });
}

addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
