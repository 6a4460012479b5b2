// All solutions as a table. Only the rows in view are elements: there may be thousands.

const ROW_HEIGHT = 32; // as in the style sheet
const BEYOND = 12; // rows kept ready above and below
const MOST_PRINTED = 300; // rows on paper; the rest is for a file

class SolutionTable {
  constructor(front, { onselect, onchoose }) {
    this.front = front;
    this.onselect = onselect;
    this.selected = 0;
    this.sorting = { name: "id", down: false };
    this.all = false;
    this.everything = Array.from({ length: front.count }, (_, i) => i + 1);
    this.order = [...this.everything];
    this.number = SolutionTable.made = (SolutionTable.made ?? 0) + 1;
    this.columns = make("colgroup", {});
    this.head = make("tr", {});
    this.body = make("tbody", {});
    const head = make("thead", {}, this.head);
    this.table = make("table", { role: "grid" }, this.columns, head, this.body);
    this.window = make(
      "div",
      {
        class: "window",
        tabindex: 0,
        "aria-label": "Solutions: arrow keys go from row to row",
        onscroll: () => this.drawRows(),
        onkeydown: (event) => this.onkey(event),
      },
      this.table,
    );
    const rows = Math.min(front.count, 14) + 1;
    this.window.style.maxHeight = `${rows * ROW_HEIGHT + ROW_HEIGHT / 2}px`;
    this.chosen = make("span", { class: "mark" });
    const showAll = quietButton("Show all", "List all solutions again", () => onchoose(null));
    this.filters = new Filters(front, () => onchoose(undefined));
    this.choice = make("span", { class: "bar", hidden: true }, this.chosen, showAll);
    this.element = make(
      "section",
      { class: "card all", "aria-label": "Solutions" },
      make(
        "div",
        { class: "bar" },
        make("h2", {}, "Solutions"),
        this.choice,
        make("span", { class: "stretch" }),
        ...(front.others.length ? [this.allChoice()] : []),
        quietButton("Save CSV", "Save the listed solutions with all measures", () => this.save()),
      ),
      this.filters.element,
      this.window,
    );
    this.list(null);
  }

  get names() {
    const others = byKind(this.front.others).flatMap(([, names]) => names);
    return ["id", ...this.front.main, ...(this.all ? others : [])];
  }

  /** Write the listed solutions to a file, as they are listed; the numbers as they are. */
  save() {
    const names = ["id", ...this.front.names];
    const lines = this.order.map((id) => names.map((name) => this.value(name, id)).join(","));
    const text = [names.join(","), ...lines, ""].join("\n");
    const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    make("a", { href: url, download: "solutions.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    say(`${grouped(this.order.length)} solutions saved`);
  }

  text(name, id) {
    return name === "id" ? String(id) : this.front.shown(name, id);
  }

  value(name, id) {
    return name === "id" ? id : this.front.value(name, id);
  }

  allChoice() {
    const box = make("input", {
      type: "checkbox",
      onchange: () => {
        this.all = box.checked;
        this.drawHead();
        this.drawRows();
      },
    });
    return make("label", { class: "log" }, box, "all measures");
  }

  // -- drawing -----------------------------------------------------------------------------------

  drawHead() {
    this.columns.replaceChildren();
    this.head.replaceChildren();
    for (const name of this.names) {
      // As wide as its widest text, whichever rows are in view.
      const { front } = this;
      const widest = name === "id" ? String(front.count).length : front.width(name);
      const column = make("col", {});
      column.style.width = `${Math.max(name.length + 2, widest) + 3}ch`;
      this.columns.append(column);
      this.head.append(this.headCell(name));
    }
  }

  headCell(name) {
    const { name: by, down } = this.sorting;
    const sorted = by === name ? (down ? "descending" : "ascending") : "none";
    const arrow = by === name ? (down ? "↓" : "↑") : "";
    const meaning = name === "id" ? "number of the solution" : data.measures[name].meaning;
    return make(
      "th",
      { scope: "col", "aria-sort": sorted },
      make(
        "button",
        { type: "button", title: meaning, onclick: () => this.sortBy(name) },
        name,
        make("span", { class: "arrow", "aria-hidden": "true" }, arrow),
      ),
    );
  }

  drawRows(everything = false) {
    const height = this.window.clientHeight;
    const top = everything ? 0 : Math.floor(this.window.scrollTop / ROW_HEIGHT) - BEYOND;
    const first = Math.max(0, top);
    const shown = everything ? MOST_PRINTED : Math.ceil(height / ROW_HEIGHT) + 2 * BEYOND;
    const rows = this.order.slice(first, first + shown);
    const below = this.order.length - first - rows.length;
    this.body.replaceChildren(
      this.gap(first),
      ...rows.map((id, i) => this.row(id, first + i)),
      everything && below ? this.untold(below) : this.gap(below),
    );
  }

  gap(rows) {
    const cell = make("td", { colspan: this.names.length });
    cell.style.height = `${rows * ROW_HEIGHT}px`;
    return make("tr", { class: "gap", "aria-hidden": "true", hidden: rows === 0 }, cell);
  }

  /** What stands on paper below the last row that is printed. */
  untold(rows) {
    const words = `and ${grouped(rows)} more: save them as CSV, or look into front.csv`;
    return make("tr", {}, make("td", { colspan: this.names.length }, words));
  }

  row(id, at) {
    const chosen = id === this.selected;
    const [, ...measures] = this.names;
    const cells = measures.map((name) => make("td", {}, this.text(name, id)));
    const attributes = {
      id: this.rowId(id),
      "aria-selected": String(chosen),
      "aria-rowindex": at + 2,
      onclick: () => this.onselect(id),
    };
    return make("tr", attributes, make("th", { scope: "row" }, String(id)), ...cells);
  }

  rowId(id) {
    return `row-${this.number}-${id}`;
  }

  // -- listing, sorting and selecting ------------------------------------------------------------

  /** List these solutions; null: all. */
  list(ids) {
    this.order = [...(ids ?? this.everything)];
    this.choice.hidden = !ids;
    this.chosen.textContent = `${grouped(this.order.length)} of ${grouped(this.front.count)} chosen`;
    this.table.setAttribute("aria-rowcount", this.order.length + 1);
    this.window.scrollTop = 0;
    this.sort();
  }

  sortBy(name) {
    // What is better comes first at the first click.
    const firstDown = name !== "id" && higherIsBetter(name);
    const down = this.sorting.name === name ? !this.sorting.down : firstDown;
    this.sorting = { name, down };
    this.sort();
    this.head.querySelector(`[aria-sort$="ending"] button`)?.focus();
  }

  sort() {
    const { name, down } = this.sorting;
    const sign = down ? -1 : 1;
    this.order.sort((a, b) => {
      const [one, other] = [this.value(name, a), this.value(name, b)];
      if (one === other) return a - b;
      if (Number.isNaN(one)) return 1; // unknown values come last, either way
      if (Number.isNaN(other)) return -1;
      return sign * (one < other ? -1 : 1);
    });
    this.drawHead();
    this.drawRows();
    this.reveal();
  }

  show(id) {
    this.selected = id;
    this.window.setAttribute("aria-activedescendant", this.rowId(id));
    this.reveal();
    this.drawRows();
  }

  /** Scroll the selected row into view. */
  reveal() {
    const at = this.order.indexOf(this.selected);
    if (at < 0) return; // not among those that are listed
    const top = at * ROW_HEIGHT;
    const room = this.window.clientHeight - ROW_HEIGHT; // below the head
    if (top < this.window.scrollTop) this.window.scrollTop = top;
    else if (top + ROW_HEIGHT > this.window.scrollTop + room) {
      this.window.scrollTop = Math.ceil((top + ROW_HEIGHT - room) / ROW_HEIGHT) * ROW_HEIGHT;
    }
  }

  onkey(event) {
    if (event.target !== this.window || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.order.length - 1;
    const page = Math.max(1, Math.floor(this.window.clientHeight / ROW_HEIGHT) - 2);
    const at = this.order.indexOf(this.selected);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.onselect(this.order[Math.min(last, Math.max(0, to))]);
  }
}
