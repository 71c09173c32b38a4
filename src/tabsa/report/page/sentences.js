// The sentences: a list that can be filtered, and those behind a cell.

// ---- the sentences

const list = byId("tellings");
const items = list ? /** @type {HTMLElement[]} */ ([...list.children]) : [];

/** The sentences of one target's aspect. @param {string} target @param {string} aspect */
const behind = (target, aspect) =>
  items.filter((item) => item.dataset.target === target && item.dataset.aspect === aspect);

/** Puts the best of every cell first, then the second best: whoever reads the beginning has seen all. */
function mixed() {
  /** @type {Map<string, number>} */
  const seen = new Map();
  const ranks = items.map((item) => {
    const cell = `${item.dataset.target} ${item.dataset.aspect}`;
    const key = `${cell} ${item.dataset.polarity}`;
    const rank = seen.get(key) ?? 0;
    seen.set(key, rank + 1);
    const n = numbers.cells[Number(item.dataset.target)][Number(item.dataset.aspect)][2];
    return { item, rank, n };
  });
  ranks.sort((one, other) => one.rank - other.rank || other.n - one.n);
  list.append(...ranks.map(({ item }) => item));
  return ranks.map(({ item }) => item);
}

function filtering() {
  const form = /** @type {HTMLFormElement} */ (byId("filter"));
  const more = /** @type {HTMLButtonElement} */ (byId("more"));
  const status = byId("matches");
  const ordered = mixed();
  const words = new Map(ordered.map((item) => [item, (item.textContent ?? "").toLowerCase()]));
  let room = PAGE;

  /** @param {number} fitting */
  function told(fitting) {
    if (fitting > room) return `The first ${room} of ${counted(fitting)} sentences`;
    if (fitting < items.length) return `${counted(fitting)} of ${counted(items.length)} sentences fit`;
    return `${counted(fitting)} sentence${fitting === 1 ? "" : "s"}`;
  }

  function show() {
    const data = new FormData(form);
    const word = String(data.get("word")).trim().toLowerCase();
    const fits = ordered.filter(
      (item) =>
        ["target", "aspect", "polarity"].every((name) => !data.get(name) || item.dataset[name] === data.get(name)) &&
        (!word || words.get(item)?.includes(word)),
    );
    const shown = new Set(fits.slice(0, room));
    for (const item of ordered) item.hidden = !shown.has(item);
    more.hidden = fits.length <= room;
    status.textContent = told(fits.length);
  }

  function again() {
    room = PAGE;
    show();
  }
  onChoice(form, again);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(again));
  more.addEventListener("click", () => {
    room += PAGE;
    show();
  });
  show();
  return { form, again };
}

// ---- a cell's sentences, under the table

/** @param {{ form: HTMLFormElement, again: () => void }} filter */
function opening(filter) {
  const panel = byId("behind");
  /** @type {HTMLAnchorElement | null} */
  let opened = null;

  function close() {
    panel.hidden = true;
    opened?.removeAttribute("aria-expanded");
    opened?.focus();
    opened = null;
  }

  /** @param {HTMLAnchorElement} link */
  function open(link) {
    opened?.removeAttribute("aria-expanded");
    opened = link;
    const [target, aspect] = (link.dataset.cell ?? "").split(" ");
    const tally = tallied(numbers.cells[Number(target)][Number(aspect)]);
    const heading = make(
      "h3",
      { tabindex: "-1" },
      make("bdi", {}, numbers.targets[Number(target)]),
      ` on ${numbers.aspects[Number(aspect)]}`,
    );
    const said = tally.judged
      ? `${counted(tally.positive)} of ${counted(tally.judged)} positive: ${percent(tally.share)}, 95% interval ${between(tally)}.`
      : "Nobody takes a side.";
    const others = tally.n > tally.judged ? ` ${counted(tally.n - tally.judged)} more without a side.` : "";
    const shut = make("button", { type: "button" }, "Close");
    shut.addEventListener("click", close);
    const all = make("a", { href: "#sentences" }, "In the list below");
    all.addEventListener("click", () => {
      filter.form.reset();
      /** @type {any} */ (filter.form.elements).target.value = target;
      /** @type {any} */ (filter.form.elements).aspect.value = aspect;
      setTimeout(filter.again);
    });
    panel.replaceChildren(
      heading,
      make("p", { class: "about" }, said + others),
      columns(target, aspect),
      make("p", { class: "ends" }, shut, " ", all),
    );
    panel.hidden = false;
    link.setAttribute("aria-expanded", "true");
    heading.focus({ preventScroll: true });
    panel.scrollIntoView({ block: "nearest" });
  }

  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-cell]"))) {
    link.setAttribute("role", "button");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      if (opened === link) close();
      else open(link);
    });
    link.addEventListener("keydown", (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      link.click();
    });
  }
  panel.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") close();
  });
}

/** The sentences of a cell, each polarity in a column. @param {string} target @param {string} aspect */
function columns(target, aspect) {
  const sentences = behind(target, aspect);
  const polarities = [...new Set(sentences.map((item) => item.dataset.polarity ?? ""))];
  return make(
    "div",
    { class: "sides" },
    ...polarities.map((polarity) => {
      const copies = sentences
        .filter((item) => item.dataset.polarity === polarity)
        .map((item) => /** @type {HTMLElement} */ (item.cloneNode(true)));
      for (const copy of copies) {
        copy.removeAttribute("id");
        copy.hidden = false;
      }
      return make("ol", { class: "tellings", "aria-label": `${polarity} sentences` }, ...copies);
    }),
  );
}
