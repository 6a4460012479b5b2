// A plot of fronts, drawn in two ways that look the same: at once by a sketch, and by plotly from
// the moment somebody zooms. Who only looks, points and clicks does not wait for a library.

const MANY = 800; // points; beyond, they are drawn smaller

// A picture is what both draw:
//   x, y     Axis
//   colour   Shades of the points, or null
//   series   [{ title, colour, symbol, xs, ys, ids, colours, stairs, hidden, lines }]: xs, ys and
//            colours are places on their axes, stairs is how points are joined ("hv", "vh", ""),
//            lines(id) is what to tell about a point
//   marks    [{ x, y, text, side }]: side is where the text stands ("left", "right")
//   margin   { l, r, t, b }
//   key      another one: zooming begins anew

/** Solutions from left to right, those without a place left out. */
function alongX({ xs, ys }) {
  const order = xs.map((_, i) => i).filter((i) => Number.isFinite(xs[i]) && Number.isFinite(ys[i]));
  return order.sort((a, b) => xs[a] - xs[b] || ys[a] - ys[b]);
}

/** About how many ticks the axes of a plot have room for. */
function stepsIn(area) {
  const of = (length, each) => Math.max(2, Math.min(8, Math.floor(length / each)));
  return { x: of(area.clientWidth, 70), y: of(area.clientHeight, 45) };
}

class Chart {
  /** `onpick` is told the series and the number of a solution that was clicked. */
  constructor(label, onpick) {
    this.onpick = onpick;
    this.area = make("div", {
      class: "plot",
      tabindex: 0,
      role: "group",
      "aria-label": label,
      onkeydown: (event) => this.onkey(event),
    });
    // Not a part of the plot: moving it would lay out the whole of it again.
    this.ring = make("span", { class: "ring", hidden: true });
    this.waiting = make("p", { class: "waiting", hidden: true });
    this.element = make("div", { class: "stage" }, this.area, this.ring, this.waiting);
    this.surface = new Sketch(this.area, {
      onpick,
      onbox: (ranges) => this.zoomTo(ranges),
    });
    /** Keys and what they do; others may be added. */
    this.keys = {
      "+": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      0: () => this.showAll(),
    };
    new ResizeObserver(() => this.resized()).observe(this.area);
  }

  draw(picture) {
    this.picture = picture;
    this.redraw();
  }

  redraw() {
    const inView = this.area.isConnected && this.area.offsetParent !== null;
    if (!this.picture || !inView) return;
    this.surface.draw(this.picture);
    this.placeRing();
  }

  /** Plotly sees to it by itself. */
  resized() {
    const { width } = this.surface;
    if (width && width !== this.area.clientWidth) this.redraw();
  }

  onkey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in this.keys)) return;
    event.preventDefault();
    this.keys[event.key]();
  }

  // -- pointing ----------------------------------------------------------------------------------

  /** Put the ring around a place on both axes. */
  pointAt(place) {
    this.pointed = place;
    this.placeRing();
  }

  /** How far along an axis the ring lies: in view from 0 to 1. */
  along(axis) {
    const [from, to] = this.surface.ranges[axis];
    return (this.pointed[axis] - from) / (to - from);
  }

  placeRing() {
    const frame = this.area.querySelector(".frame, .nsewdrag");
    this.ring.hidden = true;
    if (!this.pointed || !frame) return;
    const [right, up] = [this.along("x"), this.along("y")];
    if (![right, up].every((share) => share >= 0 && share <= 1)) return;
    this.ring.hidden = false;
    const inner = frame.getBoundingClientRect();
    const outer = this.area.getBoundingClientRect();
    this.ring.style.left = `${inner.x - outer.x + right * inner.width}px`;
    this.ring.style.top = `${inner.y - outer.y + (1 - up) * inner.height}px`;
  }

  // -- zooming -----------------------------------------------------------------------------------

  /** Show `factor` times as much, around the ring where it is in view. */
  zoom(factor) {
    const ranges = {};
    for (const axis of ["x", "y"]) {
      const [from, to] = this.surface.ranges[axis];
      const share = this.pointed ? this.along(axis) : NaN;
      const centre = share >= 0 && share <= 1 ? from + share * (to - from) : (from + to) / 2;
      ranges[axis] = [from, to].map((end) => centre + (end - centre) * factor);
    }
    return this.zoomTo(ranges);
  }

  showAll() {
    const { x, y } = this.picture;
    if (this.surface instanceof Zoomable) this.surface.show({ x: x.range, y: y.range });
  }

  async zoomTo(ranges) {
    if (await this.becomeZoomable()) this.surface.show(ranges);
  }

  /** Whether plotly draws from now on. */
  async becomeZoomable() {
    if (this.surface instanceof Zoomable) return true;
    this.wait("Getting ready to zoom …");
    try {
      await plotLibrary();
    } catch {
      this.wait("This browser cannot unpack the part of this page that zooms; a newer one can.");
      return false;
    }
    this.wait("");
    if (this.surface instanceof Sketch) {
      this.surface.leave();
      this.surface = new Zoomable(this.area, {
        onpick: this.onpick,
        onmove: () => this.placeRing(),
      });
      this.redraw();
    }
    return true;
  }

  wait(text) {
    this.waiting.textContent = text;
    this.waiting.hidden = !text;
    say(text);
  }
}
