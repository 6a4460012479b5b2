// Pointer and keyboard on a plot: look at points, pick one, zoom, move, choose several.

const REACH = 20; // how far from a point it is still meant
const LEAST_BOX = 12; // a shorter drag is a click
const ARROWS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

/** What a drag can do. */
const DRAGS = {
  zoom: "Drag a box to zoom into it",
  move: "Drag to move what is in view (or drag with the wheel pressed)",
  choose: "Drag a box to list its solutions below (or drag with Shift held)",
};

/** Whether the page was scrolled since the pointer moved: the wheel goes on scrolling it then. */
const scrolling = {
  isOn: false,

  start() {
    let last;
    addEventListener("scroll", () => (this.isOn = true), { passive: true });
    addEventListener("pointermove", ({ screenX, screenY }) => {
      const place = `${screenX} ${screenY}`; // some browsers report a move that was none
      if (place !== last) this.isOn = false;
      last = place;
    });
  },
};
scrolling.start();

class Pointing {
  constructor(chart, onstep) {
    this.chart = chart;
    this.onstep = onstep;
    this.keys = {
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5), // plus without Shift
      "-": () => this.zoom(2),
      0: () => this.showAll(),
      Enter: () => this.stand && chart.onpick(this.stand.series, this.stand.id),
      Escape: () => chart.chosen && chart.onchoose([]),
    };
    const { area } = chart;
    const heard = ["click", "dblclick", "keydown", "blur"].concat(
      ["cancel", "down", "leave", "move", "up"].map((kind) => `pointer${kind}`),
    );
    for (const kind of heard) area.addEventListener(kind, (event) => this[kind](event));
    area.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.makeTools();
    // On a touch screen a drag scrolls the page, until somebody wants something else of it.
    this.setDrag(isTouched ? "" : "zoom");
  }

  // -- tools -------------------------------------------------------------------------------------

  makeTools() {
    const kinds = Object.keys(DRAGS).filter((kind) => kind !== "choose" || this.chart.onchoose);
    this.buttons = kinds.map((kind) => {
      const onclick = () => this.setDrag(isTouched && this.kind === kind ? "" : kind);
      const button = make("button", { type: "button", class: "quiet", onclick }, kind);
      button.title = DRAGS[kind];
      return button;
    });
    this.tools = make(
      "div",
      { class: "tools" },
      make("span", { class: "choice", "aria-hidden": "true" }, make("span", {}, "drag to")),
      make("span", { class: "joined", role: "group", "aria-label": "Drag to" }, ...this.buttons),
      make(
        "span",
        { class: "joined" },
        quietButton("−", "Zoom out", () => this.zoom(2)),
        quietButton("+", "Zoom in", () => this.zoom(0.5)),
        quietButton("reset", "Show the whole front", () => this.showAll()),
      ),
    );
  }

  setDrag(kind) {
    this.kind = kind;
    this.chart.area.dataset.drag = kind;
    for (const button of this.buttons) {
      button.setAttribute("aria-pressed", String(button.textContent === kind));
    }
  }

  // -- zooming -----------------------------------------------------------------------------------

  /** Show `factor` times as much, around the ring where it is in view. */
  zoom(factor) {
    const { view, pointed } = this.chart;
    const middle = ([from, to]) => (from + to) / 2;
    const seen = pointed && view.holds(pointed);
    view.zoom(factor, seen ? pointed : { x: middle(view.x), y: middle(view.y) });
    this.chart.redraw();
  }

  showAll() {
    this.chart.view.showAll();
    this.chart.redraw();
  }

  wheel(event) {
    const { view, frame } = this.chart;
    if (scrolling.isOn && !event.ctrlKey) return;
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    // A touchpad reports two fingers that move apart as a wheel with Ctrl, in small steps.
    const turned = event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.002);
    if (turned > 0 && view.isWhole) return; // there is no more to see: the page is scrolled
    event.preventDefault();
    const at = this.where(event);
    const around = this.chart.placeAt(at);
    // Beside an axis, that axis alone.
    if (at.y > frame.bottom) delete around.y;
    if (at.x < frame.left) delete around.x;
    view.zoom(Math.exp(Math.max(-1, Math.min(1, turned))), around);
    this.chart.redraw();
  }

  dblclick() {
    this.showAll();
  }

  // -- looking and picking -----------------------------------------------------------------------

  /** Where the pointer is within the plot. */
  where(event) {
    const outer = this.chart.area.getBoundingClientRect();
    return { x: event.clientX - outer.x, y: event.clientY - outer.y };
  }

  /** The point in view that the pointer means; none: undefined. */
  nearest(event) {
    const { left, right, top, bottom } = this.chart.frame;
    const at = this.where(event);
    let [found, least] = [undefined, REACH];
    for (const series of this.chart.series) {
      for (const id of series.order) {
        const [x, y] = [series.right[id - 1], series.down[id - 1]];
        if (x < left || x > right || y < top || y > bottom) continue;
        const distance = Math.hypot(x - at.x, y - at.y);
        if (distance <= least) [found, least] = [{ series, id }, distance]; // of two, the one on top
      }
    }
    return found;
  }

  click(event) {
    const point = !this.dragged && this.nearest(event);
    if (point) this.chart.onpick(point.series, point.id);
  }

  pointermove(event) {
    if (this.pressed) this.drag(event);
    else if (event.pointerType !== "touch") this.describe(this.nearest(event));
  }

  pointerleave() {
    this.describe(undefined);
  }

  blur() {
    this.describe(undefined);
  }

  /** What is drawn has moved: the description of a point belongs elsewhere. */
  moved() {
    this.describe(undefined);
  }

  /** Describe a point beside it. */
  describe(point) {
    const { area, tip } = this.chart;
    tip.hidden = !point;
    area.classList.toggle("pointing", Boolean(point));
    if (!point) return;
    const { series, id } = point;
    const [first, ...rest] = series.lines(id);
    tip.replaceChildren(make("b", {}, first), ...rest.flatMap((line) => [make("br"), line]));
    // Below and to the right, where the points of a front seldom are.
    const left = beside(series.right[id - 1], 12, tip.offsetWidth, area.clientWidth);
    const top = beside(series.down[id - 1], 8, tip.offsetHeight, area.clientHeight);
    tip.style.inset = `${top}px auto auto ${left}px`;
  }

  // -- dragging ----------------------------------------------------------------------------------

  pointerdown(event) {
    this.dragged = undefined;
    if (event.pointerType === "touch" && !isTouched) return;
    const moving = event.button === 1 ? "move" : ""; // the wheel, pressed
    const choosing = event.shiftKey && this.chart.onchoose ? "choose" : "";
    const kind = moving || choosing || this.kind;
    if (!kind || (event.button !== 0 && !moving)) return;
    if (moving) event.preventDefault(); // which would scroll the page
    this.pressed = { ...this.where(event), kind };
    this.chart.area.setPointerCapture(event.pointerId);
  }

  drag(event) {
    const { frame, view } = this.chart;
    const at = this.where(event);
    if (this.pressed.kind === "move") {
      const [from, to] = [this.dragged ?? this.pressed, at].map((each) => this.chart.placeAt(each));
      const far = Math.hypot(at.x - this.pressed.x, at.y - this.pressed.y) >= LEAST_BOX / 3;
      if (!far && !this.dragged) return;
      this.dragged = at;
      view.move({ x: from.x - to.x, y: from.y - to.y });
      this.chart.redraw();
      return;
    }
    const across = between(this.pressed.x, at.x, frame.left, frame.right);
    const down = between(this.pressed.y, at.y, frame.top, frame.bottom);
    if (!across && !down && !this.dragged) return;
    // A box that is narrow one way is meant for the other.
    this.dragged = { x: across ?? [frame.left, frame.right], y: down ?? [frame.top, frame.bottom] };
    this.describe(undefined);
    this.showBox(this.dragged);
  }

  showBox({ x, y }) {
    const { box } = this.chart;
    box.hidden = false;
    box.style.inset = `${y[0]}px auto auto ${x[0]}px`;
    box.style.width = `${x[1] - x[0]}px`;
    box.style.height = `${y[1] - y[0]}px`;
  }

  pointerup() {
    const { pressed, dragged, chart } = this;
    this.pressed = undefined;
    chart.box.hidden = true;
    if (!pressed || !dragged || pressed.kind === "move") return;
    const [one, other] = [0, 1].map((i) => chart.placeAt({ x: dragged.x[i], y: dragged.y[1 - i] }));
    const ranges = { x: [one.x, other.x], y: [one.y, other.y] };
    if (pressed.kind === "choose") {
      chart.onchoose(inside(chart.series[0], ranges));
      return;
    }
    chart.view.show(ranges);
    chart.redraw();
  }

  pointercancel() {
    this.pressed = this.dragged = undefined;
    this.chart.box.hidden = true;
  }

  // -- the keyboard ------------------------------------------------------------------------------

  keydown(event) {
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key in ARROWS || key === "Home" || key === "End") this.walk(key, event.shiftKey);
    else if (key in this.keys) this.keys[key]();
    else return;
    event.preventDefault();
  }

  /** Begin at a solution of a series when the arrow keys are used. */
  startAt(place, id) {
    this.at = { place, id };
  }

  /** Where the arrow keys came to, or began: the series, and the solution in it. */
  get stand() {
    const { series } = this.chart.picture;
    return this.at && { series: series[this.at.place], id: this.at.id };
  }

  /** Go along a front, or from one front to another; with `choosing`, choose what is passed. */
  walk(key, choosing) {
    const { chart, stand } = this;
    const fronts = chart.series;
    if (!fronts.length) return;
    const from = fronts.includes(stand?.series) ? stand.series : fronts[0];
    const before = from.order.indexOf(stand?.id);
    const { series, id } = this.next(key, fronts, from, before);
    this.startAt(chart.picture.series.indexOf(series), id);
    if (choosing && chart.onchoose) {
      this.anchor ??= Math.max(before, 0);
      const ends = [this.anchor, series.order.indexOf(id)].sort((a, b) => a - b);
      chart.onchoose(series.order.slice(ends[0], ends[1] + 1));
    } else this.anchor = undefined;
    const place = { x: series.xs[id - 1], y: series.ys[id - 1] };
    chart.view.reveal(place);
    chart.pointAt(place);
    this.onstep(series, id);
    chart.redraw();
    this.describe({ series, id });
  }

  next(key, fronts, series, before) {
    const { order } = series;
    if (fronts.length > 1 && (key === "ArrowUp" || key === "ArrowDown") && before >= 0) {
      const at = (fronts.indexOf(series) + ARROWS[key] + fronts.length) % fronts.length;
      const x = series.xs[order[before] - 1];
      const near = (id) => Math.abs(fronts[at].xs[id - 1] - x);
      const id = fronts[at].order.reduce((best, each) => (near(each) < near(best) ? each : best));
      return { series: fronts[at], id };
    }
    const last = order.length - 1;
    const to = { Home: 0, End: last }[key] ?? before + ARROWS[key];
    return { series, id: order[Math.min(last, Math.max(0, to))] };
  }
}

/** Where something begins that stands after a place, or before it where there is no room. */
function beside(place, gap, length, room) {
  return place + gap + length <= room ? place + gap : Math.max(0, place - gap - length);
}

/** Both ends in order and within limits; none if they are too close to be meant. */
function between(one, other, least, most) {
  if (Math.abs(one - other) < LEAST_BOX) return undefined;
  return [one, other].sort((a, b) => a - b).map((at) => Math.min(most, Math.max(least, at)));
}

/** Solutions whose places lie between the ends of both ranges. */
function inside({ order, xs, ys }, { x, y }) {
  const between = (place, [from, to]) => place >= from && place <= to;
  return order.filter((id) => between(xs[id - 1], x) && between(ys[id - 1], y));
}
