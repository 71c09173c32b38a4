// Two targets compared, and change over time, of whatever the reader chooses; and the start of it all.

// ---- two targets

function comparing() {
  const form = /** @type {HTMLFormElement} */ (byId("pair"));
  const table = /** @type {HTMLTableElement} */ (document.querySelector("table.contrast"));
  const heads = table.tHead?.rows[0].cells ?? [];

  function show() {
    const data = new FormData(form);
    const chosen = [Number(data.get("first")), Number(data.get("second"))];
    const names = chosen.map((place) => numbers.targets[place]);
    for (const place of [0, 1]) heads[place + 1].textContent = names[place];
    if (table.caption)
      table.caption.textContent = `${names[0]} and ${names[1]}: positive among opinions that take a side`;
    const rows = numbers.aspects.map((aspect, column) => {
      const [one, other] = chosen.map((place) => tallied(numbers.cells[place][column]));
      return make(
        "tr",
        {},
        make("th", { scope: "row" }, aspect),
        shareCell(one),
        shareCell(other),
        ...apartCells(one, other, names),
      );
    });
    table.tBodies[0].replaceChildren(...rows);
  }
  onChoice(form, show);
}

/** @param {Tally} tally */
function shareCell(tally) {
  if (!tally.judged) return make("td", {}, "–");
  const told = `${counted(tally.positive)} of ${counted(tally.judged)}; ${between(tally)}`;
  return make("td", {}, make("b", {}, percent(tally.share)), " ", make("small", {}, told));
}

/** @param {Tally} one @param {Tally} other @param {string[]} names */
function apartCells(one, other, names) {
  if (!one.judged || !other.judged) return [make("td", {}, "–"), make("td", { class: "word" }, "not judged")];
  const { apart, low, high } = difference(one, other);
  const unclear = low <= 0 && 0 <= high;
  const tone = unclear ? "tie" : apart > 0 ? "gain" : "loss";
  const bar = make("div", { class: `forest ${tone}` });
  for (const [name, value] of Object.entries({ v: apart, l: low, h: high }))
    bar.style.setProperty(`--${name}`, ((value + 1) / 2).toFixed(4));
  const told = make(
    "td",
    {},
    make("b", {}, points(apart)),
    " ",
    make("small", {}, `[${points(low)}, ${points(high)}]`),
    bar,
  );
  return [told, make("td", { class: "word" }, unclear ? "cannot tell" : names[apart > 0 ? 0 : 1])];
}

// ---- change over time, as tabsa.report.page.chart draws it

/** @param {Time} time */
function trends(time) {
  const form = /** @type {HTMLFormElement} */ (byId("when"));
  const svg = byId("trend");
  const body = /** @type {HTMLTableElement} */ (document.querySelector("table.trend")).tBodies[0];
  const caption = svg.closest("figure")?.querySelector("figcaption");

  function show() {
    const data = new FormData(form);
    const [target, aspect] = ["target", "aspect"].map((name) =>
      data.get(name) === "" ? null : Number(data.get(name)),
    );
    /** @type {Counts[]} */
    const sums = time.names.map(() => [0, 0, 0]);
    for (const [t, a, place, ...three] of time.counts) {
      if ((target === null || t === target) && (aspect === null || a === aspect))
        three.forEach((number, at) => (sums[place][at] += number));
    }
    const series = sums.map(tallied);
    const name = `${target === null ? "all targets" : numbers.targets[target]} on ${aspect === null ? "all aspects" : numbers.aspects[aspect]}`;
    caption?.replaceChildren(make("bdi", {}, name));
    draw(svg, series);
    byId("trend-t").textContent = `${name} over time`;
    byId("trend-d").textContent =
      series
        .map((tally, place) =>
          tally.judged ? `${time.names[place]}: ${percent(tally.share)} of ${counted(tally.judged)}` : "",
        )
        .filter(Boolean)
        .join("; ") || "no opinions";
    body.replaceChildren(...series.map((tally, place) => timeRow(time.names[place], tally)));
  }
  onChoice(form, show);
}

/** @param {string} name @param {Tally} tally */
function timeRow(name, tally) {
  const cells = [
    counted(tally.n),
    counted(tally.positive),
    counted(tally.negative),
    ...(tally.judged ? [percent(tally.share), between(tally)] : ["–", "–"]),
  ];
  return make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((words) => make("td", {}, words)));
}

const FRAME = { width: 1080, height: 310, left: 50, right: 8, top: 10, bottom: 66, bars: 38 };

/** Draws everything anew but the grid and the names of the buckets. @param {Element} svg @param {Tally[]} series */
function draw(svg, series) {
  const { width, height, left, right, top, bottom, bars } = FRAME;
  const step = (width - left - right) / series.length;
  /** @param {number} place */
  const x = (place) => left + (place + 0.5) * step;
  /** @param {number} share */
  const y = (share) => top + (1 - share) * (height - top - bottom);
  for (const old of svg.querySelectorAll(".count, .band, .line, .whisker, .dot")) old.remove();
  /** @param {string} tag @param {Record<string, string>} attributes */
  const add = (tag, attributes) => {
    const element = document.createElementNS(svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    svg.append(element);
  };
  const most = Math.max(...series.map((tally) => tally.n)) || 1;
  const floor = height - bottom + bars + 8;
  series.forEach((tally, place) => {
    const tall = Math.max(1, (bars * tally.n) / most);
    if (tally.n)
      add("rect", {
        class: "count",
        x: (x(place) - 0.4 * step).toFixed(1),
        y: (floor - tall).toFixed(1),
        width: (0.8 * step).toFixed(1),
        height: tall.toFixed(1),
      });
  });
  /** @param {number} place @param {number} share */
  const at = (place, share) => `${x(place).toFixed(1)} ${y(share).toFixed(1)}`;
  for (const run of runs(series)) {
    if (run.length === 1) {
      const [place] = run;
      add("path", { class: "whisker", d: `M${at(place, series[place].low)}V${y(series[place].high).toFixed(1)}` });
      continue;
    }
    const band = [
      ...run.map((place) => at(place, series[place].high)),
      ...run.toReversed().map((place) => at(place, series[place].low)),
    ];
    add("path", { class: "band", d: `M${band.join("L")}Z` });
    add("path", { class: "line", d: `M${run.map((place) => at(place, series[place].share)).join("L")}` });
  }
  series.forEach((tally, place) => {
    if (tally.judged) add("circle", { class: "dot", cx: x(place).toFixed(1), cy: y(tally.share).toFixed(1), r: "3.5" });
  });
}

/** Places of buckets that follow each other and have a share. @param {Tally[]} series */
function runs(series) {
  /** @type {number[][]} */
  const found = [];
  series.forEach((tally, place) => {
    if (!tally.judged) return;
    if (place && series[place - 1].judged) found[found.length - 1].push(place);
    else found.push([place]);
  });
  return found;
}

for (const control of document.querySelectorAll("[data-script]")) control.removeAttribute("hidden");
if (list) opening(filtering());
if (byId("pair")) comparing();
if (numbers.time && byId("when")) trends(numbers.time);
