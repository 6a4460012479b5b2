// The selected solution: its numbers, how to export it, its groups, what it does to each column.

const LISTED = 8; // labels of a column that are shown before the rest is folded

class SolutionView {
  constructor(front, onselect) {
    this.front = front;
    this.id = 0;
    this.heading = make("h2", {});
    this.tiles = make("div", { class: "tiles" });
    this.more = make("dl", { class: "numbers" });
    this.others = make("dl", { class: "numbers" });
    const all = make("details", {}, make("summary", {}, "All measures"), this.others);
    all.hidden = !front.others.length;
    this.command = make("code", {});
    this.copy = make("button", { type: "button", onclick: () => this.copyCommand() }, "Copy");
    this.sizes = make("div", { class: "sizes" });
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
    this.others.replaceChildren(...this.pairs(front.others));
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
      ...front.columns.map((column, i) => columnView(column, column.ways[front.ways[id - 1][i]])),
    );
  }
}

/** A command whose options are not torn apart where a line ends. */
function parts(command) {
  return command.split(/(?= )/).map((part) => make("span", {}, part));
}

/** A column's blocks: how many, how wide, and what released cells show. */
function columnView(column, [blocks, places, widths]) {
  const labels = places.map((place) => column.labels[place]);
  const whole = blocks === 1 && labels[0] === "*";
  const total = widths.reduce((sum, width) => sum + width, 0);
  const values = `${grouped(total || blocks)} ${(total || blocks) === 1 ? "value" : "values"}`;
  const count = whole ? "not shown" : total ? `${grouped(blocks)} of ${values}` : values;
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
  if (widths.length) view.append(band(widths));
  view.append(chips(labels.slice(0, LISTED)));
  if (labels.length > LISTED) {
    const rest = chips(labels.slice(LISTED));
    const untold = blocks - labels.length;
    const where = `and ${grouped(untold)} more, in solutions.json`;
    if (untold) rest.append(make("li", { class: "untold" }, where));
    const hidden = grouped(blocks - LISTED);
    view.append(make("details", {}, make("summary", {}, `${hidden} more`), rest));
  }
  return view;
}

function chips(labels) {
  return make("ul", { class: "chips" }, ...labels.map((label) => make("li", {}, label)));
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
