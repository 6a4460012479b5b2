// Two solutions side by side: their numbers, and what they do to each column.

class Pair {
  constructor(front, onclose) {
    this.front = front;
    this.pinned = 0;
    this.body = make("div", { class: "window" });
    this.element = make(
      "section",
      { class: "card pair", "aria-label": "Two solutions side by side", hidden: true },
      make(
        "div",
        { class: "bar" },
        make("h2", {}, "Side by side"),
        make("span", { class: "stretch" }),
        quietButton("Close", "Stop comparing", onclose),
      ),
      this.body,
    );
  }

  pin(id) {
    this.pinned = id;
    this.element.hidden = !id;
  }

  show(id) {
    if (!this.pinned) return;
    const { front, pinned } = this;
    const names = [...front.main, ...front.others.filter((n) => data.measures[n].kind === "common")];
    const body = make("tbody", {}, ...names.map((name) => this.measureRow(name, pinned, id)));
    if (front.effects) {
      front.columns.forEach((column, i) => body.append(this.columnRow(column.name, i, pinned, id)));
    }
    const head = make("tr", {}, make("th", { scope: "col" }, ""));
    for (const each of [pinned, id]) head.append(make("th", { scope: "col" }, `solution ${each}`));
    const table = make("table", { class: "answered prices" }, make("thead", {}, head), body);
    this.body.replaceChildren(table);
  }

  measureRow(name, pinned, id) {
    const [one, other] = [pinned, id].map((each) => this.front.value(name, each));
    const lead = (higherIsBetter(name) ? 1 : -1) * (one - other);
    const texts = [pinned, id].map((each) => this.front.shown(name, each));
    if (lead > 0) texts[0] = make("strong", {}, texts[0]);
    if (lead < 0) texts[1] = make("strong", {}, texts[1]);
    return this.row(name, texts, data.measures[name].meaning);
  }

  columnRow(name, i, pinned, id) {
    const texts = [pinned, id].map((each) => {
      const { rows, effect } = this.front.column(i, each);
      const labels = rows.filter((number) => number > 0).length;
      return `${grouped(labels)} ${labels === 1 ? "label" : "labels"}, entropy ${percent(effect[1], 0)}`;
    });
    return this.row(name, texts, "labels that rows show, and the share of entropy that is kept");
  }

  row(name, texts, title) {
    const head = make("th", { scope: "row", title }, name);
    return make("tr", {}, head, ...texts.map((text) => make("td", {}, text)));
  }
}
