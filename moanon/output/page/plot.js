// The front as a plot: choose axes, zoom, point at a solution.

const COLOURED_ROOM = 80; // right of the plot, for the colour bar

/** A labelled choice among the measures of a front. */
function measureChoice(front, label, chosen, onchange, none) {
  const select = make("select", { onchange: () => onchange(select.value) });
  if (none) select.append(make("option", { value: "" }, none));
  const others = [...front.key, ...front.others].filter((n) => !front.objectives.includes(n));
  for (const [title, names] of [["Objectives", front.objectives], ["Other measures", others]]) {
    const options = names.map((name) => make("option", { value: name }, name));
    if (options.length) select.append(make("optgroup", { label: title }, ...options));
  }
  select.value = chosen;
  return make("label", { class: "choice" }, make("span", {}, label), select);
}

/** The loss to the right and privacy upwards, a third objective as colour. */
function firstAxes(front) {
  const x = front.objectives.find(isShare) ?? "loss";
  const rest = front.objectives.filter((name) => name !== x);
  const y = rest.find(higherIsBetter) ?? rest[0] ?? front.privacy;
  return { x, y, colour: rest.find((name) => name !== y) ?? "" };
}

class FrontPlot {
  constructor(front, onselect) {
    this.front = front;
    this.onselect = onselect;
    this.selected = 0;
    this.axes = firstAxes(front);
    this.log = { x: front.spansDecades(this.axes.x), y: front.spansDecades(this.axes.y) };
    this.area = make("div", {
      class: "plot",
      tabindex: 0,
      role: "group",
      "aria-label": "Plot of the front: arrow keys go from solution to solution, + and − zoom",
      onkeydown: (event) => this.onkey(event),
    });
    // Not a trace: moving one would lay out the whole plot again.
    this.ring = make("span", { class: "ring", hidden: true });
    this.tools = make("div", { class: "tools" });
    this.element = make(
      "section",
      { class: "card", "aria-label": "Front" },
      this.tools,
      make("div", { class: "stage" }, this.area, this.ring),
      make(
        "p",
        { class: "hint" },
        isTouched
          ? "Tap a point to see what that solution does."
          : "Click a point to see what that solution does. Drag to zoom.",
      ),
    );
    this.makeTools();
    theme.listeners.push(() => this.draw());
  }

  // -- choosing ----------------------------------------------------------------------------------

  makeTools() {
    const choose = (axis) => (name) => {
      this.axes[axis] = name;
      if (axis in this.log) this.log[axis] = this.front.spansDecades(name);
      this.makeTools();
      this.draw();
      this.tools.querySelector(`[data-axis="${axis}"] select`).focus();
    };
    const choice = (axis, label, none) => {
      const made = measureChoice(this.front, label, this.axes[axis], choose(axis), none);
      made.dataset.axis = axis;
      return made;
    };
    this.tools.replaceChildren(
      choice("x", "x"),
      this.logChoice("x"),
      choice("y", "y"),
      this.logChoice("y"),
      choice("colour", "colour", "none"),
      make("span", { class: "stretch" }),
      make(
        "span",
        { class: "buttons" },
        quietButton("−", "Zoom out", () => this.zoom(2)),
        quietButton("+", "Zoom in", () => this.zoom(0.5)),
        quietButton("Reset", "Show the whole front", () => this.showAll()),
      ),
    );
  }

  logChoice(axis) {
    const box = make("input", {
      type: "checkbox",
      onchange: () => {
        this.log[axis] = box.checked;
        this.draw();
      },
    });
    box.checked = this.log[axis];
    box.disabled = !(this.front.range(this.axes[axis])[0] > 0);
    box.setAttribute("aria-label", `${axis} axis logarithmic`);
    return make("label", { class: "log" }, box, "log");
  }

  // -- drawing -----------------------------------------------------------------------------------

  draw() {
    if (!canDraw(this.area)) return;
    const { x, y, colour } = this.axes;
    const layout = plotLayout({
      margin: { l: leftRoom([this.front], y), r: colour ? COLOURED_ROOM : 16, t: 10, b: 48 },
      xaxis: measureAxis(x, this.log.x, [this.front]),
      yaxis: measureAxis(y, this.log.y, [this.front]),
      // Zooming survives a change of colours, not one of axes.
      uirevision: [x, y, this.log.x, this.log.y].join(),
    });
    Plotly.react(this.area, this.traces(), layout, PLOT_CONFIG);
    if (!this.wired) {
      this.wired = true;
      this.area.on("plotly_click", (event) => {
        const id = event.points.map((point) => point.customdata).find(Boolean);
        if (id) this.onselect(id);
      });
      this.area.on("plotly_afterplot", () => this.placeRing());
    }
    this.placeRing();
  }

  traces() {
    const { x, y } = this.axes;
    const xs = this.front.plotted(x);
    const ys = this.front.plotted(y);
    const ids = xs.map((_, i) => i + 1);
    const points = {
      type: "scatter",
      mode: "markers",
      x: xs,
      y: ys,
      customdata: ids,
      text: ids.map((id) => hoverText(this.front, id)),
      hovertemplate: "%{text}<extra></extra>",
      marker: this.markers(),
    };
    return [this.stairs(xs, ys, ids), points, this.marks(xs, ys)];
  }

  markers() {
    const size = this.front.count > 800 ? 5 : 7;
    const name = this.axes.colour;
    const line = { width: 0.5, color: theme.colour("card") };
    if (!name) return { size, color: theme.colour("accent"), opacity: 0.85, line };
    const log = this.front.spansDecades(name);
    const values = this.front.plotted(name);
    const bar = { title: { text: axisTitle(name), side: "right" }, thickness: 10, outlinewidth: 0 };
    if (log) Object.assign(bar, decadeTicks(this.front.range(name)));
    const color = log ? values.map((value) => Math.log10(value)) : values;
    return { size, color, colorscale: theme.scale, showscale: true, colorbar: bar, line };
  }

  /** What can be had at each limit, where the axes are just the two objectives. */
  stairs(xs, ys, ids) {
    const { x, y } = this.axes;
    const objectives = this.front.objectives;
    const drawn = objectives.length === 2 && objectives.includes(x) && objectives.includes(y);
    const order = drawn ? ids.map((id) => id - 1).sort((a, b) => xs[a] - xs[b]) : [];
    return {
      type: "scatter",
      mode: "lines",
      x: order.map((i) => xs[i]),
      y: order.map((i) => ys[i]),
      line: { color: theme.colour("accent"), width: 1, shape: higherIsBetter(x) ? "vh" : "hv" },
      opacity: 0.35,
      hoverinfo: "skip",
    };
  }

  marks(xs, ys) {
    const ids = Object.keys(this.front.marks).map(Number);
    return {
      type: "scatter",
      mode: "markers+text",
      x: ids.map((id) => xs[id - 1]),
      y: ids.map((id) => ys[id - 1]),
      text: ids.map((id) => plotText(this.front.marks[id])),
      textposition: "top left",
      textfont: { size: 11, color: theme.colour("muted") },
      marker: { symbol: "diamond-open", size: 13, color: theme.colour("text") },
      hoverinfo: "skip",
      cliponaxis: false,
    };
  }

  // -- pointing and zooming ----------------------------------------------------------------------

  show(id) {
    this.selected = id;
    if (this.wired) this.placeRing();
  }

  /** Where a solution lies on an axis, in the axis's own numbers. */
  coordinate(axis, id) {
    const name = this.axes[axis];
    const value = this.front.value(name, id) * (isShare(name) ? 100 : 1);
    return this.log[axis] ? Math.log10(value) : value;
  }

  /** How far along an axis the selected solution lies: in view from 0 to 1. */
  along(axis) {
    const [from, to] = this.area.layout[`${axis}axis`].range;
    return (this.coordinate(axis, this.selected) - from) / (to - from);
  }

  placeRing() {
    const [right, up] = [this.along("x"), this.along("y")];
    const inView = [right, up].every((share) => share >= 0 && share <= 1);
    const drawn = this.area.querySelector(".nsewdrag");
    this.ring.hidden = !inView || !drawn;
    if (this.ring.hidden) return;
    const inner = drawn.getBoundingClientRect();
    const outer = this.area.getBoundingClientRect();
    this.ring.style.left = `${inner.x - outer.x + right * inner.width}px`;
    this.ring.style.top = `${inner.y - outer.y + (1 - up) * inner.height}px`;
  }

  /** Go to the neighbour to the left or right. */
  step(by) {
    const xs = this.front.plotted(this.axes.x);
    const ys = this.front.plotted(this.axes.y);
    const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b] || ys[a] - ys[b]);
    const at = order.indexOf(this.selected - 1) + by;
    if (at >= 0 && at < order.length) this.onselect(order[at] + 1);
  }

  onkey(event) {
    const actions = {
      ArrowRight: () => this.step(1),
      ArrowUp: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      ArrowDown: () => this.step(-1),
      "+": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      0: () => this.showAll(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  /** Show `factor` times as much, around the selected solution where it is in view. */
  zoom(factor) {
    const change = {};
    for (const axis of ["x", "y"]) {
      const [from, to] = this.area.layout[`${axis}axis`].range;
      const share = this.along(axis);
      const centre = share >= 0 && share <= 1 ? from + share * (to - from) : (from + to) / 2;
      change[`${axis}axis.range`] = [from, to].map((end) => centre + (end - centre) * factor);
    }
    Plotly.relayout(this.area, change);
  }

  showAll() {
    Plotly.relayout(this.area, { "xaxis.autorange": true, "yaxis.autorange": true });
  }
}

function hoverText(front, id) {
  const lines = front.main.map((name) => `${name} ${front.shown(name, id)}`);
  const mark = front.marks[id] ? ` (${front.marks[id]})` : "";
  return [`<b>Solution ${id}</b>${plotText(mark)}`, ...lines.map(plotText)].join("<br>");
}

/** Ticks of a colour bar whose values are logarithms. */
function decadeTicks([least, most]) {
  const powers = [];
  for (let p = Math.ceil(Math.log10(least)); p <= Math.log10(most); p++) powers.push(p);
  return { tickvals: powers, ticktext: powers.map((p) => grouped(10 ** p)) };
}
