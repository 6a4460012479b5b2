// Several fronts with the same objectives, laid over each other.

const LIMITS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5];
const SYMBOLS = ["circle", "square", "diamond", "triangle", "plus", "cross", "star"];

class Comparison {
  constructor(fronts, members, open) {
    this.fronts = members.map((i) => fronts[i]);
    this.open = (at, id) => open(members[at], id);
    this.axes = firstAxes(this.fronts[0]);
    this.hidden = new Set();
    const label =
      "Fronts laid over each other: arrow keys go along a front and from front to front, Enter " +
      "opens a solution, plus and minus zoom, 0 shows all";
    this.chart = new Chart(label, {
      onpick: ({ at }, id) => this.open(at, id),
      onstep: ({ lines }, id) => say(lines(id).join(", ")),
    });
    this.legend = make("div", { class: "legend" });
    this.element = make(
      "div",
      { class: "single" },
      make(
        "section",
        { class: "card", "aria-label": "Fronts laid over each other" },
        make("h2", {}, "Fronts laid over each other"),
        this.legend,
        this.chart.element,
        make("div", { class: "below" }, make("p", { class: "hint" }, this.hint()), this.chart.tools),
      ),
      this.limits(),
    );
    theme.listeners.push(() => this.draw());
  }

  show() {
    this.draw();
  }

  hint() {
    const hidden = this.fronts[0].objectives.filter((n) => n !== this.axes.x && n !== this.axes.y);
    const more = hidden.length ? ` Not shown here: ${hidden.join(", ")}.` : "";
    return `Click a point to open its solution; click a name to hide its front.${more}`;
  }

  draw() {
    const log = (name) =>
      lowest(this.fronts, name) > 0 && this.fronts.some((front) => front.spansDecades(name));
    const [x, y] = [this.axes.x, this.axes.y].map((name) => new Axis(name, log(name), this.fronts));
    const series = this.fronts.map((front, at) => this.series(front, at, x, y));
    this.legend.replaceChildren(...series.map((each) => this.named(each)));
    this.chart.draw({
      x,
      y,
      colour: null,
      series,
      marks: [],
      margin: { l: leftRoom(this.fronts, y.name), r: 16, t: 10, b: 48 },
      key: "same",
    });
  }

  series(front, at, x, y) {
    return {
      at,
      title: front.title,
      colour: theme.distinct[at % theme.distinct.length],
      symbol: SYMBOLS[at % SYMBOLS.length],
      xs: front.places(x),
      ys: front.places(y),
      stairs: front.objectives.length === 2 ? stairsOf(x.name) : "",
      hidden: this.hidden.has(at),
      lines: (id) => [front.title, ...front.lines(id)],
    };
  }

  /** A front's name, which shows and hides it. */
  named({ at, title, colour, symbol, hidden }) {
    const shape = draw("path", { d: SHAPES[symbol](POINT_RADIUS), fill: colour });
    const picture = draw("svg", { viewBox: "-6 -6 12 12", "aria-hidden": "true" }, shape);
    const onclick = () => {
      if (!this.hidden.delete(at)) this.hidden.add(at);
      this.draw();
      this.legend.children[at].focus();
    };
    const attributes = { type: "button", class: "quiet", "aria-pressed": String(!hidden), onclick };
    return make("button", attributes, picture, title);
  }

  /** The best privacy within each limit of loss, front by front. */
  limits() {
    const privacy = this.fronts[0].privacy;
    const head = make("tr", {}, make("th", { scope: "col" }, "loss at most"));
    for (const front of this.fronts) head.append(make("th", { scope: "col" }, front.title));
    const body = make("tbody", {});
    for (const limit of LIMITS) {
      const row = make("tr", {}, make("th", { scope: "row" }, percent(limit, 0)));
      this.fronts.forEach((front, at) => row.append(make("td", {}, this.answer(front, at, limit))));
      body.append(row);
    }
    const table = make("table", { class: "limits" }, make("thead", {}, head), body);
    return make(
      "section",
      { class: "card", "aria-label": "Best within a limit" },
      make("h2", {}, `${extreme(privacy)} ${privacy} within a limit of loss`),
      make("div", { class: "window" }, table),
    );
  }

  answer(front, at, limit) {
    const id = front.best(limit);
    if (!id) return "–";
    const title = `Solution ${id}, loss ${front.shown("loss", id)}`;
    const onclick = () => this.open(at, id);
    const attributes = { type: "button", class: "link", title, onclick };
    return make("button", attributes, front.shown(front.privacy, id));
  }
}
