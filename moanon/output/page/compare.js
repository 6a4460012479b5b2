// Several fronts that share a privacy and a cost, in one plot.

const LIMITS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5];
/** The k that is asked about first: many publishers' least. */
const FIRST_K = 5;
const SYMBOLS = ["circle", "square", "diamond", "triangle", "plus", "cross", "star"];

class Comparison {
  constructor(fronts, { members, axes, note }, open) {
    this.fronts = members.map((i) => fronts[i]);
    this.open = (at, id) => open(members[at], id);
    this.axes = axes ?? firstAxes(this.fronts[0]);
    this.hidden = new Set();
    const label =
      "Fronts in one plot: arrow keys go along a front and from front to front, Enter " +
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
        { class: "card", "aria-label": "Fronts in one plot" },
        make("h2", {}, "Fronts in one plot"),
        this.legend,
        this.chart.element,
        make("div", { class: "below" }, make("p", { class: "hint" }, this.hint()), this.chart.tools),
        ...(note ? [make("p", { class: "note" }, note)] : []),
      ),
      this.costs(),
      this.limits(),
    );
    theme.listeners.push(() => this.draw());
  }

  /** What all of them are asked for: what was searched for, as attained. */
  get privacy() {
    const { x } = this.axes;
    return this.fronts.every((front) => front.privacy === this.fronts[0].privacy)
      ? this.fronts[0].privacy
      : x;
  }

  show() {
    this.draw();
  }

  hint() {
    const objectives = [...new Set(this.fronts.flatMap((front) => front.objectives))];
    const hidden = objectives.filter((n) => n !== this.axes.x && n !== this.axes.y);
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

  /** What a chosen k costs, front by front. */
  costs() {
    const most = highest(this.fronts, "k");
    const value = Math.min(FIRST_K, most);
    const oninput = () => this.tellCosts();
    const attributes = { type: "number", min: 1, max: most, step: 1, value, oninput };
    this.asked = make("input", attributes);
    this.prices = make("tbody", {});
    const head = make("tr", {});
    for (const name of ["", "least loss", "of it suppression", "k", "solution"]) {
      head.append(make("th", { scope: "col" }, name));
    }
    this.tellCosts();
    const table = make("table", { class: "answered prices" }, make("thead", {}, head), this.prices);
    return make(
      "section",
      { class: "card", "aria-label": "What a k costs" },
      make("h2", {}, "What a k costs"),
      make("label", { class: "choice" }, make("span", {}, "k at least"), this.asked),
      make("div", { class: "window" }, table),
    );
  }

  tellCosts() {
    const least = Number(this.asked.value);
    const found = this.fronts.map((front) => (least >= 1 ? front.cheapest(least) : 0));
    const losses = found.map((id, at) => (id ? this.fronts[at].value("loss", id) : Infinity));
    const best = Math.min(...losses);
    const rows = this.fronts.map((front, at) => {
      const row = make("tr", {}, make("th", { scope: "row" }, front.title));
      const id = found[at];
      const texts = id ? ["loss", "sl", "k"].map((name) => front.shown(name, id)) : ["–", "–", "–"];
      if (id && losses[at] === best) texts[0] = make("strong", {}, texts[0]);
      const onclick = () => this.open(at, id);
      const title = `Open solution ${id}`;
      const link = id ? make("button", { type: "button", class: "link", title, onclick }, `${id}`) : "–";
      row.append(...[...texts, link].map((text) => make("td", {}, text)));
      return row;
    });
    this.prices.replaceChildren(...rows);
  }

  /** The best privacy within each limit of loss, front by front. */
  limits() {
    const privacy = this.privacy;
    const head = make("tr", {}, make("th", { scope: "col" }, "loss at most"));
    for (const front of this.fronts) head.append(make("th", { scope: "col" }, front.title));
    const body = make("tbody", {});
    for (const limit of LIMITS) {
      const row = make("tr", {}, make("th", { scope: "row" }, percent(limit, 0)));
      this.fronts.forEach((front, at) => row.append(make("td", {}, this.answer(front, at, limit))));
      body.append(row);
    }
    const table = make("table", { class: "answered limits" }, make("thead", {}, head), body);
    return make(
      "section",
      { class: "card", "aria-label": "Best within a limit" },
      make("h2", {}, `${extreme(privacy)} ${privacy} within a limit of loss`),
      make("div", { class: "window" }, table),
    );
  }

  answer(front, at, limit) {
    const id = front.best(limit, this.privacy);
    if (!id) return "–";
    const title = `Solution ${id}, loss ${front.shown("loss", id)}`;
    const onclick = () => this.open(at, id);
    const attributes = { type: "button", class: "link", title, onclick };
    return make("button", attributes, front.shown(this.privacy, id));
  }
}
