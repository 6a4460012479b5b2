// Several fronts with the same objectives, laid over each other.

const LIMITS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star"];

class Comparison {
  constructor(fronts, members, open) {
    this.fronts = members.map((i) => fronts[i]);
    this.open = (at, id) => open(members[at], id);
    this.axes = firstAxes(this.fronts[0]);
    this.area = make("div", { class: "plot" });
    this.element = make(
      "div",
      { class: "single" },
      make(
        "section",
        { class: "card", "aria-label": "Fronts laid over each other" },
        make("h2", {}, "Fronts laid over each other"),
        this.area,
        make("p", { class: "hint" }, this.hint()),
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
    if (!canDraw(this.area)) return;
    const { x, y } = this.axes;
    const log = (name) =>
      lowest(this.fronts, name) > 0 && this.fronts.some((front) => front.spansDecades(name));
    const layout = plotLayout({
      margin: { l: leftRoom(this.fronts, y), r: 16, t: 10, b: 48 },
      showlegend: true,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      xaxis: measureAxis(x, log(x), this.fronts),
      yaxis: measureAxis(y, log(y), this.fronts),
      uirevision: "same",
    });
    const traces = this.fronts.map((front, i) => this.trace(front, i));
    Plotly.react(this.area, traces, layout, PLOT_CONFIG);
    if (!this.wired) {
      this.wired = true;
      this.area.on("plotly_click", (event) => {
        const [point] = event.points;
        this.open(point.curveNumber, point.customdata);
      });
    }
  }

  trace(front, i) {
    const { x, y } = this.axes;
    const order = Array.from({ length: front.count }, (_, at) => at);
    const [xs, ys] = [front.plotted(x), front.plotted(y)];
    order.sort((a, b) => xs[a] - xs[b] || ys[a] - ys[b]);
    const colours = theme.distinct;
    const color = colours[i % colours.length];
    const title = plotText(front.title);
    return {
      type: "scatter",
      mode: front.objectives.length === 2 ? "lines+markers" : "markers",
      name: title,
      x: order.map((at) => xs[at]),
      y: order.map((at) => ys[at]),
      customdata: order.map((at) => at + 1),
      text: order.map((at) => `${title}<br>${hoverText(front, at + 1)}`),
      hovertemplate: "%{text}<extra></extra>",
      line: { color, width: 1, shape: higherIsBetter(x) ? "vh" : "hv" },
      marker: { color, size: 6, symbol: SYMBOLS[i % SYMBOLS.length] },
    };
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
      make("h2", {}, `Highest ${privacy} within a limit of loss`),
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
