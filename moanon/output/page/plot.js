// The front as a plot: choose axes, point at a solution.

const COLOURED_ROOM = 80; // right of the plot, for the colour bar
const HINT = isTouched
  ? "Tap a point to see what that solution does."
  : "Click a point to see what it does. The wheel zooms, a double click shows all.";

/** A labelled choice among the measures of a front. */
function measureChoice(front, label, chosen, onchange, none) {
  const select = make("select", { onchange: () => onchange(select.value) });
  if (none) select.append(make("option", { value: "" }, none));
  const others = front.names.filter((name) => !front.objectives.includes(name));
  for (const [title, names] of [["Objectives", front.objectives], ...byKind(others)]) {
    const options = names.map((name) => make("option", { value: name }, name));
    if (options.length) select.append(make("optgroup", { label: title }, ...options));
  }
  select.value = chosen;
  return make("label", { class: "choice" }, make("span", {}, label), select);
}

/** Privacy to the right and its cost upwards, as in the figures; a third objective as colour. */
function firstAxes(front) {
  const { privacy: x, cost: y } = front;
  const attained = front.objectives.find(isPrivacy);
  const rest = front.objectives.filter((name) => ![x, y, attained].includes(name));
  return { x, y, colour: rest.find(isPrivacy) ?? (rest.length > 1 ? rest.at(-1) : "") };
}

class FrontPlot {
  constructor(front, { onselect, onchoose }) {
    this.front = front;
    this.selected = 0;
    this.axes = firstAxes(front);
    this.log = { x: front.spansDecades(this.axes.x), y: front.spansDecades(this.axes.y) };
    const label =
      "Plot of the front: arrow keys go from solution to solution, with Shift they choose several, " +
      "plus and minus zoom, 0 shows the whole front";
    const select = (_, id) => onselect(id);
    this.chart = new Chart(label, { onpick: select, onstep: select, onchoose });
    this.tools = make("div", { class: "tools" });
    this.element = make(
      "section",
      { class: "card", "aria-label": "Front" },
      this.tools,
      this.chart.element,
      make("div", { class: "below" }, make("p", { class: "hint" }, HINT), this.chart.tools),
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
    this.picture = this.makePicture();
    this.chart.draw(this.picture);
    this.point();
  }

  makePicture() {
    const { front } = this;
    const x = new Axis(this.axes.x, this.log.x, [front]);
    const y = new Axis(this.axes.y, this.log.y, [front]);
    const colour = this.axes.colour ? this.shades() : null;
    const [xs, ys] = [front.places(x), front.places(y)];
    const points = {
      title: front.title,
      colour: theme.colour("accent"),
      symbol: "circle",
      xs,
      ys,
      colours: colour && front.places(colour.axis),
      stairs: this.stairs(),
      lines: (id) => front.lines(id),
    };
    const placed = (id) => Number.isFinite(xs[id - 1]) && Number.isFinite(ys[id - 1]);
    // Above a curve that rises there is room to the left, above one that falls to the right.
    const side = higherIsBetter(x.name) === higherIsBetter(y.name) ? "right" : "left";
    const marked = Object.keys(front.marks).map(Number).filter(placed);
    return {
      x,
      y,
      colour,
      series: [points],
      marks: marked.map((id) => ({ x: xs[id - 1], y: ys[id - 1], text: front.marks[id], side })),
      margin: { l: leftRoom([front], y.name), r: colour ? COLOURED_ROOM : 16, t: 10, b: 48 },
      key: [x.name, y.name, x.log, y.log].join(),
    };
  }

  shades() {
    const name = this.axes.colour;
    return new Shades(new Axis(name, this.front.spansDecades(name), [this.front]));
  }

  /** What can be had at each limit, where the axes are just the two objectives. */
  stairs() {
    const { x, y } = this.axes;
    const { objectives, privacy, cost } = this.front;
    const known = [...objectives, privacy, cost];
    const drawn = objectives.length === 2 && isPrivacy(x) !== isPrivacy(y);
    return drawn && known.includes(x) && known.includes(y) ? stairsOf(x) : "";
  }

  // -- pointing ----------------------------------------------------------------------------------

  show(id) {
    this.selected = id;
    this.point();
  }

  point() {
    if (!this.picture || !this.selected) return;
    const [{ xs, ys }] = this.picture.series;
    this.chart.pointAt({ x: xs[this.selected - 1], y: ys[this.selected - 1] });
    this.chart.pointing.startAt(0, this.selected);
  }
}
