// The selected solution: its numbers, how to export it, its groups, what it does to each column.

const LISTED = 8; // labels of a column that are shown before the rest is folded

class SolutionView {
  constructor(front, { onselect, onpin }) {
    this.front = front;
    this.id = 0;
    this.heading = make("h2", {});
    this.tiles = make("div", { class: "tiles" });
    this.more = make("dl", { class: "numbers" });
    this.others = make("div", {});
    const all = make("details", {}, make("summary", {}, "All measures"), this.others);
    all.hidden = !front.others.length;
    this.command = make("code", {});
    this.copy = make("button", { type: "button", onclick: () => this.copyCommand() }, "Copy");
    this.sizes = make("div", { class: "sizes" });
    this.examples = make("div", {});
    this.columns = make("div", { class: "columns" });
    const go = (by) => () => onselect(Math.min(front.count, Math.max(1, this.id + by)));
    this.element = make(
      "section",
      { class: "card solution", "aria-label": "Selected solution" },
      make(
        "div",
        { class: "bar" },
        this.heading,
        make("span", { class: "stretch" }),
        quietButton("Compare", "Keep this solution beside the next ones", () => onpin(this.id)),
        quietButton("‹", "Previous solution", go(-1)),
        quietButton("›", "Next solution", go(1)),
      ),
      this.tiles,
      this.more,
      all,
      make("h3", {}, front.command === null ? "Export it, in Python" : "Export it"),
      make("div", { class: "command" }, this.command, this.copy),
      make("h3", {}, "Sizes of its groups"),
      this.sizes,
      make("h3", {}, "What the columns show"),
      this.columns,
      make("h3", {}, "What released rows look like"),
      this.examples,
    );
  }

  show(id) {
    this.id = id;
    const words = [this.front.marks[id], this.front.optimality[id - 1]].filter(Boolean);
    this.heading.replaceChildren(
      `Solution ${id}`,
      ...words.flatMap((word) => [" ", make("span", { class: "mark" }, word)]),
    );
    this.showNumbers();
    this.command.replaceChildren(...parts(this.exportCommand(id)));
    this.copy.textContent = "Copy";
    this.showSizes();
    this.showColumns();
    this.examples.replaceChildren(examplesView(this.front, id));
  }

  // -- numbers -----------------------------------------------------------------------------------

  showNumbers() {
    const { front, id } = this;
    this.tiles.replaceChildren(
      ...front.objectives.map((name) =>
        make(
          "div",
          { class: "tile", title: data.measures[name].meaning },
          make("span", {}, name),
          make("strong", {}, front.shown(name, id)),
        ),
      ),
    );
    const rest = front.main.filter((name) => !front.objectives.includes(name));
    this.more.replaceChildren(...this.pairs(rest));
    this.others.replaceChildren(
      ...byKind(front.others).flatMap(([title, names]) => [
        make("h4", {}, title),
        make("dl", { class: "numbers" }, ...this.pairs(names)),
      ]),
    );
  }

  pairs(names) {
    return names.map((name) =>
      make(
        "div",
        { title: data.measures[name].meaning },
        make("dt", {}, ...breakable(name)),
        make("dd", {}, this.front.shown(name, this.id)),
      ),
    );
  }

  // -- exporting ---------------------------------------------------------------------------------

  /** How to make the release; without a configuration that says where the table is, in Python. */
  exportCommand(id) {
    const { command } = this.front;
    if (command === null) return `front.release(${id}).write("release-${id}.csv")`;
    return `${command} ${id} --out release-${id}.csv`;
  }

  async copyCommand() {
    const text = this.command.textContent;
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Not allowed for every file: select the text and let the browser copy the selection.
      getSelection().selectAllChildren(this.command);
      done = document.execCommand("copy");
    }
    this.copy.textContent = done ? "Copied" : "Press Ctrl+C";
    say(done ? "Command copied" : "Command selected");
  }

  // -- groups ------------------------------------------------------------------------------------

  showSizes() {
    const { front, id } = this;
    if (front.sizes === null) {
      this.sizes.replaceChildren(make("p", { class: "hint" }, `Not shown: ${front.without}.`));
      return;
    }
    const steps = cumulative(front.sizes[id - 1]);
    const text = describeSizes(steps);
    this.sizes.replaceChildren(sizesPicture(steps, text), make("p", { class: "hint" }, text));
  }

  // -- columns -----------------------------------------------------------------------------------

  showColumns() {
    const { front, id } = this;
    this.columns.replaceChildren(
      ...front.columns.map((column, i) => columnView(column, front.column(i, id))),
    );
  }
}

/** A command whose options are not torn apart where a line ends. */
function parts(command) {
  return command.split(/(?= )/).map((part) => make("span", {}, part));
}

/** A column's blocks: how many, how wide, whose rows, and what released cells show. */
function columnView(column, { blocks, places, widths, rows, before, effect }) {
  const labels = places.map((place) => column.labels[place]);
  const whole = blocks === 1 && labels[0] === "*";
  const total = widths.reduce((sum, width) => sum + width, 0);
  const values = `${grouped(total || blocks)} ${(total || blocks) === 1 ? "value" : "values"}`;
  // A label without rows says nothing; where more are listed than shown, their rows are not known.
  const shown = rows && rows.length === blocks ? rows.filter((number) => number > 0).length : blocks;
  const count = whole ? "not shown" : total ? `${grouped(shown)} of ${values}` : values;
  const view = make(
    "div",
    { class: whole ? "column whole" : "column" },
    make(
      "div",
      { class: "bar" },
      make("span", { class: "name" }, column.name),
      make("span", { class: "count" }, count),
    ),
  );
  if (effect) view.append(effectView(effect));
  if (column.merged) view.append(mergedView(column.merged));
  if (widths.length && before.length) view.append(barsView(widths, rows, before));
  else if (widths.length) view.append(band(widths));
  const listed = labels.map((label, i) => [label, rows ? rows[i] : null]);
  // Labels of released rows first, or empty ones at one end of a domain would hide them.
  if (rows) listed.sort((one, other) => (other[1] > 0) - (one[1] > 0));
  view.append(chips(listed.slice(0, LISTED)));
  if (labels.length > LISTED) {
    const rest = chips(listed.slice(LISTED));
    const untold = blocks - labels.length;
    const where = `and ${grouped(untold)} more, in solutions.json`;
    if (untold) rest.append(make("li", { class: "untold" }, where));
    const hidden = grouped(blocks - LISTED);
    view.append(make("details", {}, make("summary", {}, `${hidden} more`), rest));
  }
  return view;
}

/** What the column itself has lost, and what it still says about people. */
function effectView([loss, kept]) {
  const words = `own loss ${percent(loss, 1)}, entropy kept ${percent(kept, 1)}`;
  const title =
    "Own loss: share of the column's values that its labels no longer distinguish. Entropy kept: " +
    "share of the column's information about people that is left.";
  return make("p", { class: "effect", title }, words);
}

/** What steps and clamped ends had merged before any solution was looked for. */
function mergedView(merged) {
  const title =
    "What granularity and clamped ends take away in every solution; the loss, which counts from " +
    "the steps on, does not show it.";
  return make("p", { class: "effect", title }, `merged before the search: ${merged}`);
}

/** Labels, each with its rows; those that no released row shows are pale. */
function chips(labels) {
  const items = labels.map(([label, rows]) => {
    if (rows === null) return make("li", {}, label);
    const number = make("span", { class: "rows" }, grouped(rows));
    return make("li", { class: rows ? "" : "empty" }, make("span", {}, label), number);
  });
  return make("ul", { class: "chips" }, ...items);
}

/** The domain as a bar, cut where the blocks are. */
function band(widths) {
  const parts = widths.map((width) => {
    const part = make("i", {});
    part.style.flexGrow = width;
    return part;
  });
  return make("div", { class: "band", "aria-hidden": "true" }, ...parts);
}

/**
 * Before and after: pale, the rows of each base value; in colour, the released rows of each block,
 * spread over its base values, as whoever reads the release has to.
 */
function barsView(widths, rows, before) {
  const after = widths.map((width, i) => (rows[i] ?? 0) / width);
  const top = Math.max(1, ...before, ...after);
  const [height, gap] = [40, widths.length > 60 ? 0 : 0.08];
  const bar = (from, to, value) => {
    const up = (height * value) / top;
    return `M${from + gap} ${height}v${-up}h${to - from - 2 * gap}v${up}z`;
  };
  const was = before.map((value, i) => bar(i, i + 1, value)).join("");
  let from = 0;
  const is = widths.map((width, i) => bar(from, (from += width), after[i])).join("");
  const words = "Pale: rows of each value before. In colour: released rows of each label.";
  const size = { viewBox: `0 0 ${before.length} ${height}`, preserveAspectRatio: "none" };
  return draw(
    "svg",
    { class: "bars", role: "img", "aria-label": words, ...size },
    draw("title", {}, words),
    draw("path", { class: "before", d: was }),
    draw("path", { class: "after", d: is }),
  );
}

/** Some groups as their rows are released, from the smallest to the largest. */
function examplesView(front, id) {
  if (!front.examples) return make("p", { class: "hint" }, `Not shown: ${front.without}.`);
  const head = make("tr", {}, make("th", { scope: "col" }, "rows"));
  for (const { name } of front.columns) head.append(make("th", { scope: "col" }, name));
  const body = front.examples[id - 1].map(([size, ...places]) => {
    const labels = places.map((place, i) => (place < 0 ? "…" : front.columns[i].labels[place]));
    const number = make("th", { scope: "row" }, grouped(size));
    return make("tr", {}, number, ...labels.map((label) => make("td", {}, label)));
  });
  const table = make("table", { class: "answered preview" }, make("thead", {}, head), make("tbody", {}, ...body));
  const words = "Each line is a group: so many rows that look alike. From the smallest to the largest.";
  return make("div", {}, make("p", { class: "hint" }, words), make("div", { class: "window" }, table));
}
