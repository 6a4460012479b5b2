// A plot of fronts: what it shows of a picture, and how that is drawn. Points and lines go on a
// canvas, since there may be ten thousand of them and zooming moves all; words go on an SVG above.

const POINT_RADIUS = 3.5;
const SMALL_RADIUS = 2.5;
const MANY = 800; // points; beyond, they are drawn smaller
const FADED = 0.18; // how much is left of points that are not chosen, where some are

// A picture is what there is to draw:
//   x, y     Axis
//   colour   Shades of the points, or null
//   series   [{ title, colour, symbol, xs, ys, colours, stairs, hidden, lines }]: xs, ys and colours
//            are places on their axes, stairs is how points are joined ("hv", "vh", ""), lines(id)
//            is what to say about a point; solution 1 is the first
//   marks    [{ x, y, text, side }]: side is where the text stands ("left", "right")
//   margin   { l, r, t, b }
//   key      another one: zooming begins anew

/** Solutions from left to right, those without a place left out. */
function alongX({ xs, ys }) {
  const ids = Array.from(xs.keys(), (i) => i + 1);
  const order = ids.filter((id) => Number.isFinite(xs[id - 1]) && Number.isFinite(ys[id - 1]));
  return order.sort((a, b) => xs[a - 1] - xs[b - 1] || ys[a - 1] - ys[b - 1]);
}

/** How the points of a front are joined: what is had at a limit is had until the next. */
function stairsOf(x) {
  return higherIsBetter(x) ? "vh" : "hv";
}

/** Solutions on the stairs, from left to right: without those of a baseline that another one beats. */
function unbeaten({ order, ys, stairs }, y) {
  const fromBest = stairs === "hv" ? order : [...order].reverse();
  const sign = higherIsBetter(y) ? 1 : -1;
  let best = -Infinity;
  const steps = fromBest.filter((id) => {
    const isBetter = sign * ys[id - 1] > best;
    if (isBetter) best = sign * ys[id - 1];
    return isBetter;
  });
  return stairs === "hv" ? steps : steps.reverse();
}

/** Room for the numbers left of a plot. */
function leftRoom(fronts, name) {
  const most = isShare(name) ? 100 : highest(fronts, name);
  // Some five ticks up to a small number have decimals.
  const decimals = most > 0 ? Math.max(0, Math.ceil(-Math.log10(most / 5))) : 0;
  return 46 + 7 * grouped(most, decimals).length;
}

class Chart {
  /**
   * `onpick(series, id)`: a point was clicked. `onstep(series, id)`: the arrow keys came to one.
   * `onchoose(ids)`: a box was drawn around these points of the first series; without it, points
   * cannot be chosen.
   */
  constructor(label, { onpick, onstep, onchoose }) {
    this.onpick = onpick;
    this.onchoose = onchoose;
    this.chosen = null;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.words = draw("svg", { class: "words", "aria-hidden": "true" });
    this.ring = draw("circle", { class: "ring", r: 9 });
    this.box = make("div", { class: "box", hidden: true });
    this.tip = make("div", { class: "tip", hidden: true });
    const attributes = { class: "plot", tabindex: 0, role: "application", "aria-label": label };
    const layers = [this.canvas, this.words, this.box, this.tip];
    this.area = make("div", attributes, ...layers);
    this.pointing = new Pointing(this, onstep);
    this.tools = this.pointing.tools;
    this.element = make("div", { class: "stage" }, this.area);
    new ResizeObserver(() => this.resized()).observe(this.area);
  }

  draw(picture) {
    const { x, y, key } = picture;
    if (key !== this.picture?.key) {
      this.view = new View(x, y);
      this.room = picture.margin.l;
    }
    this.picture = picture;
    for (const series of picture.series) series.order ??= alongX(series);
    this.redraw();
  }

  /** The series that are drawn. */
  get series() {
    return this.picture.series.filter((series) => !series.hidden && series.order.length);
  }

  resized() {
    const { clientWidth, clientHeight } = this.area;
    if (this.picture && (clientWidth !== this.width || clientHeight !== this.height)) this.redraw();
  }

  redraw() {
    const { area, picture } = this;
    if (!picture || !area.isConnected || area.offsetParent === null) return;
    [this.width, this.height] = [area.clientWidth, area.clientHeight];
    const ticks = this.ticks();
    const { r, t, b } = picture.margin;
    // Closely seen numbers are longer. The room stays while one zooms, or the plot would jump.
    this.room = Math.max(this.room, 46 + 7 * Math.max(...ticks.y.map(({ text }) => text.length)));
    this.frame = { left: this.room, right: this.width - r, top: t, bottom: this.height - b };
    for (const series of this.series) this.locate(series);
    this.paint(ticks);
    this.write(ticks);
    this.pointing.moved();
  }

  ticks() {
    const fitting = (length, each) => Math.max(2, Math.min(8, Math.floor(length / each)));
    const { x, y } = this.picture;
    return {
      x: x.ticks(this.view.x, fitting(this.width, 70)),
      y: y.ticks(this.view.y, fitting(this.height, 45)),
    };
  }

  /** Show a place by a ring. */
  pointAt(place) {
    this.pointed = place;
    if (this.frame) this.placeRing();
  }

  /** Let these solutions of the first series stand out; null: all. */
  choose(ids) {
    this.chosen = ids && new Set(ids);
    this.redraw();
  }

  // -- places ------------------------------------------------------------------------------------

  across(place) {
    const { left, right } = this.frame;
    return left + this.view.share("x", place) * (right - left);
  }

  upwards(place) {
    const { top, bottom } = this.frame;
    return bottom - this.view.share("y", place) * (bottom - top);
  }

  /** Where all solutions of a series are drawn, in the present view: `right` and `down`. */
  locate(series) {
    series.right = series.xs.map((place) => this.across(place));
    series.down = series.ys.map((place) => this.upwards(place));
  }

  /** The places on both axes of a point of the plot. */
  placeAt({ x, y }) {
    const { left, right, top, bottom } = this.frame;
    const along = ([from, to], share) => from + share * (to - from);
    return {
      x: along(this.view.x, (x - left) / (right - left)),
      y: along(this.view.y, (bottom - y) / (bottom - top)),
    };
  }

  // -- the canvas --------------------------------------------------------------------------------

  paint(ticks) {
    const { canvas, frame, width, height } = this;
    const { left, right, top, bottom } = frame;
    this.scale = Math.max(2, devicePixelRatio); // 2: so that it is sharp on paper, too
    canvas.width = width * this.scale;
    canvas.height = height * this.scale;
    const pen = canvas.getContext("2d");
    pen.scale(this.scale, this.scale);
    this.paintGrid(pen, ticks);
    pen.beginPath();
    pen.rect(left, top, right - left, bottom - top);
    pen.clip();
    for (const series of this.series) {
      if (series.stairs) this.paintStairs(pen, series);
      this.paintPoints(pen, series);
    }
  }

  paintGrid(pen, ticks) {
    const { left, right, top, bottom } = this.frame;
    pen.strokeStyle = theme.colour("grid");
    pen.beginPath();
    for (const { place } of ticks.x) {
      const at = Math.round(this.across(place)) + 0.5;
      pen.moveTo(at, top);
      pen.lineTo(at, bottom);
    }
    for (const { place } of ticks.y) {
      const at = Math.round(this.upwards(place)) + 0.5;
      pen.moveTo(left, at);
      pen.lineTo(right, at);
    }
    pen.stroke();
  }

  /** What can be had at each limit. */
  paintStairs(pen, series) {
    const { right, down, colour, stairs } = series;
    const steps = unbeaten(series, this.picture.y.name);
    pen.beginPath();
    steps.forEach((id, at) => {
      const [x, y] = [right[id - 1], down[id - 1]];
      const before = steps[at - 1];
      if (at && stairs === "hv") pen.lineTo(x, down[before - 1]);
      else if (at) pen.lineTo(right[before - 1], y);
      pen.lineTo(x, y);
    });
    pen.save();
    pen.strokeStyle = colour;
    pen.globalAlpha = this.chosen ? FADED : 0.35;
    pen.stroke();
    pen.restore();
  }

  paintPoints(pen, series) {
    const { order, colours, symbol, colour } = series;
    const { picture, chosen } = this;
    const radius = order.length > MANY ? SMALL_RADIUS : POINT_RADIUS;
    const stamps = Stamps.of(symbol, radius, this.scale);
    const put = (ids) => {
      for (const { id, x, y } of this.spots(series, ids)) {
        const stamp = stamps.in(colours ? picture.colour.of(colours[id - 1]) : colour);
        pen.drawImage(stamp, x - stamps.reach, y - stamps.reach);
      }
    };
    pen.save();
    pen.resetTransform(); // stamps are as large as the canvas's own pixels make them
    if (chosen) {
      pen.globalAlpha = FADED;
      put(order.filter((id) => !chosen.has(id)));
      pen.globalAlpha = 1;
    }
    put(chosen ? order.filter((id) => chosen.has(id)) : order);
    pen.restore();
  }

  /** Pixels of points in view; of those that cover each other wholly, the one on top. */
  spots({ right, down }, ids) {
    const { canvas, scale } = this;
    const spots = new Map();
    for (const id of ids) {
      const [x, y] = [Math.round(right[id - 1] * scale), Math.round(down[id - 1] * scale)];
      if (x < 0 || x > canvas.width || y < 0 || y > canvas.height) continue;
      spots.set(y * canvas.width + x, { id, x, y });
    }
    return spots.values();
  }

  // -- words -------------------------------------------------------------------------------------

  write(ticks) {
    const { words, picture, width, height } = this;
    words.setAttribute("viewBox", `0 0 ${width} ${height}`);
    words.replaceChildren(
      ...this.axes(ticks),
      ...picture.marks.filter((mark) => this.view.holds(mark)).map((mark) => this.mark(mark)),
      ...(picture.colour ? this.colourBar(picture.colour) : []),
      this.ring,
    );
    this.placeRing();
  }

  axes(ticks) {
    const { left, right, top, bottom } = this.frame;
    const { x, y } = this.picture;
    const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
    const turned = `translate(26 ${middle.y}) rotate(-90)`;
    return [
      ...ticks.x.map(({ place, text }) =>
        draw("text", { class: "xtick middle", x: this.across(place), y: bottom + 16 }, text),
      ),
      ...ticks.y.map(({ place, text }) =>
        draw("text", { class: "ytick end", x: left - 5, y: this.upwards(place) + 4 }, text),
      ),
      draw("path", { class: "line", d: `M${left} ${top}V${bottom}H${right}` }),
      draw("text", { class: "title xtitle middle", x: middle.x, y: this.height - 6 }, x.title),
      draw("text", { class: "title ytitle middle", transform: turned }, y.title),
      draw("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }),
    ];
  }

  mark({ x, y, text, side }) {
    const [right, down] = [this.across(x), this.upwards(y)];
    return draw(
      "g",
      { class: "mark" },
      draw("path", { d: SHAPES.diamond(5), transform: `translate(${right} ${down})` }),
      side === "left"
        ? draw("text", { class: "end", x: right - 6, y: down - 8 }, text)
        : draw("text", { x: right + 6, y: down - 8 }, text),
    );
  }

  colourBar(colour) {
    const { top, bottom } = this.frame;
    const [from, to] = colour.axis.ends;
    const left = this.frame.right + 12;
    const id = `colours-${(Chart.bars = (Chart.bars ?? 0) + 1)}`;
    const stops = theme.scale.map((shade, i, { length }) =>
      draw("stop", { offset: i / (length - 1), "stop-color": shade }),
    );
    const upwards = { id, x1: 0, x2: 0, y1: 1, y2: 0 };
    const size = { x: left, y: top, width: 10, height: bottom - top };
    const turned = `translate(${this.width - 6} ${(top + bottom) / 2}) rotate(-90)`;
    return [
      draw("linearGradient", upwards, ...stops),
      draw("rect", { ...size, fill: `url(#${id})` }),
      ...colour.axis.ticks([from, to], 5).map(({ place, text }) => {
        const y = bottom - ((place - from) / (to - from || 1)) * (bottom - top) + 4;
        return draw("text", { x: left + 14, y }, text);
      }),
      draw("text", { class: "title cbtitle middle", transform: turned }, colour.axis.title),
    ];
  }

  placeRing() {
    const seen = this.pointed && this.view.holds(this.pointed);
    this.ring.toggleAttribute("hidden", !seen);
    if (!seen) return;
    this.ring.setAttribute("cx", this.across(this.pointed.x));
    this.ring.setAttribute("cy", this.upwards(this.pointed.y));
  }
}
