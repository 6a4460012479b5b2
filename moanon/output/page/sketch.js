// A picture of fronts drawn at once, without any library: to look at, point at and click.

const POINT_RADIUS = 3.5;
const SMALL_RADIUS = 2.5; // where there are many
const REACH = 20; // how far from a point it is still meant
const LEAST_BOX = 12;
const HEARD = ["click", "pointercancel", "pointerdown", "pointerleave", "pointermove", "pointerup"];
const SHAPES = {
  circle: (r) => `M${r} 0A${r} ${r} 0 1 1 ${-r} 0A${r} ${r} 0 1 1 ${r} 0Z`,
  square: (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
  diamond: (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0Z`,
  "triangle-up": (r) => `M0 ${-1.2 * r}L${1.1 * r} ${0.8 * r}H${-1.1 * r}Z`,
  cross: (r) => cross(r),
  x: (r) => cross(r, Math.SQRT1_2),
  star: (r) => star(1.4 * r),
};

/** A plus; turned by an eighth where its arms are so long in both directions. */
function cross(r, turned) {
  const [a, b] = [1.2 * r, 0.45 * r];
  const corners = [
    [a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b],
    [-a, b], [-a, -b], [-b, -b], [-b, -a], [b, -a], [b, -b],
  ];
  const placed = turned ? corners.map(([x, y]) => [(x - y) * turned, (x + y) * turned]) : corners;
  return `M${placed.map((corner) => corner.join(" ")).join("L")}Z`;
}

function star(r) {
  const corners = Array.from({ length: 10 }, (_, i) => {
    const [angle, out] = [(i * Math.PI) / 5, i % 2 ? 0.42 * r : r];
    return `${out * Math.sin(angle)} ${-out * Math.cos(angle)}`;
  });
  return `M${corners.join("L")}Z`;
}

class Sketch {
  /** `onpick` is told which point was clicked, `onbox` the ranges of a box that was drawn. */
  constructor(area, { onpick, onbox }) {
    this.area = area;
    this.onpick = onpick;
    this.onbox = onbox;
    this.tip = make("div", { class: "tip", hidden: true });
    this.box = make("div", { class: "box", hidden: true });
    this.listening = new AbortController();
    for (const kind of HEARD) {
      area.addEventListener(kind, (event) => this[kind](event), { signal: this.listening.signal });
    }
  }

  /** Leave the area to another surface. */
  leave() {
    this.listening.abort();
    this.area.replaceChildren();
  }

  get ranges() {
    return { x: this.picture.x.range, y: this.picture.y.range };
  }

  // -- drawing -----------------------------------------------------------------------------------

  draw(picture) {
    this.picture = picture;
    const [width, height] = [this.area.clientWidth, this.area.clientHeight];
    this.width = width;
    const { l, r, t, b } = picture.margin;
    this.frame = { left: l, right: width - r, top: t, bottom: height - b };
    this.points = [];
    const svg = draw(
      "svg",
      { class: "sketch", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      ...this.axes(height),
      ...picture.series.filter((series) => !series.hidden).map((series) => this.series(series)),
      ...picture.marks.map((mark) => this.mark(mark)),
      ...(picture.colour ? this.colourBar(picture.colour, width) : []),
    );
    this.area.replaceChildren(svg, this.box, this.tip);
    this.tip.hidden = true;
  }

  across(place) {
    const { left, right } = this.frame;
    const [from, to] = this.picture.x.range;
    return left + ((place - from) / (to - from)) * (right - left);
  }

  upwards(place) {
    const { top, bottom } = this.frame;
    const [from, to] = this.picture.y.range;
    return bottom - ((place - from) / (to - from)) * (bottom - top);
  }

  axes(height) {
    const { left, right, top, bottom } = this.frame;
    const { x, y } = this.picture;
    const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
    const steps = stepsIn(this.area);
    const parts = [];
    for (const { place, text } of x.ticks(steps.x)) {
      const at = this.across(place);
      parts.push(draw("path", { class: "grid", d: `M${at} ${top}V${bottom}` }));
      parts.push(draw("text", { class: "middle", x: at, y: bottom + 16 }, text));
    }
    for (const { place, text } of y.ticks(steps.y)) {
      const at = this.upwards(place);
      parts.push(draw("path", { class: "grid", d: `M${left} ${at}H${right}` }));
      parts.push(draw("text", { class: "end", x: left - 5, y: at + 4 }, text));
    }
    const turned = `translate(26 ${middle.y}) rotate(-90)`;
    parts.push(
      draw("path", { class: "line", d: `M${left} ${top}V${bottom}H${right}` }),
      draw("text", { class: "title xtitle middle", x: middle.x, y: height - 6 }, x.title),
      draw("text", { class: "title ytitle middle", transform: turned }, y.title),
      draw("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }),
    );
    return parts;
  }

  series(series) {
    const { xs, ys, ids } = series;
    const shape = SHAPES[series.symbol](ids.length > MANY ? SMALL_RADIUS : POINT_RADIUS);
    const group = draw("g", { class: "trace", fill: series.colour });
    if (series.stairs) group.append(this.stairs(series));
    ids.forEach((id, i) => {
      if (!Number.isFinite(xs[i]) || !Number.isFinite(ys[i])) return;
      const [x, y] = [this.across(xs[i]), this.upwards(ys[i])];
      const where = `translate(${x.toFixed(1)} ${y.toFixed(1)})`;
      const point = draw("path", { class: "point", d: shape, transform: where });
      if (series.colours) point.setAttribute("fill", this.picture.colour.of(series.colours[i]));
      group.append(point);
      this.points.push({ x, y, id, series });
    });
    return group;
  }

  /** What can be had at each limit. */
  stairs(series) {
    const { xs, ys, colour, stairs } = series;
    const steps = alongX(series).map((i, at) => {
      const [x, y] = [this.across(xs[i]).toFixed(1), this.upwards(ys[i]).toFixed(1)];
      if (at === 0) return `M${x} ${y}`;
      return stairs === "hv" ? `H${x}V${y}` : `V${y}H${x}`;
    });
    return draw("path", { class: "stairs", stroke: colour, d: steps.join("") });
  }

  mark({ x, y, text, side }) {
    const [right, down] = [this.across(x), this.upwards(y)];
    return draw(
      "g",
      { class: "textpoint" },
      draw("path", { d: SHAPES.diamond(5), transform: `translate(${right} ${down})` }),
      side === "left"
        ? draw("text", { class: "end", x: right - 6, y: down - 8 }, text)
        : draw("text", { x: right + 6, y: down - 8 }, text),
    );
  }

  colourBar(colour, width) {
    const { top, bottom } = this.frame;
    const [from, to] = colour.axis.ends;
    const left = this.frame.right + 12;
    const id = `colours-${(Sketch.bars = (Sketch.bars ?? 0) + 1)}`;
    const stops = theme.scale.map(([offset, shade]) =>
      draw("stop", { offset, "stop-color": shade }),
    );
    const upwards = { id, x1: 0, x2: 0, y1: 1, y2: 0 };
    const size = { x: left, y: top, width: 10, height: bottom - top };
    const turned = `translate(${width - 6} ${(top + bottom) / 2}) rotate(-90)`;
    const ticks = colour.axis.ticks(5).filter(({ place }) => place >= from && place <= to);
    return [
      draw("linearGradient", upwards, ...stops),
      draw("rect", { ...size, fill: `url(#${id})` }),
      ...ticks.map(({ place, text }) => {
        const y = bottom - ((place - from) / (to - from || 1)) * (bottom - top) + 4;
        return draw("text", { x: left + 14, y }, text);
      }),
      draw("text", { class: "title cbtitle middle", transform: turned }, colour.axis.title),
    ];
  }

  // -- pointing ----------------------------------------------------------------------------------

  /** Where the pointer is within the area. */
  where(event) {
    const outer = this.area.getBoundingClientRect();
    return { x: event.clientX - outer.x, y: event.clientY - outer.y };
  }

  /** The point that the pointer means; none: undefined. */
  nearest(event) {
    const at = this.where(event);
    let [found, least] = [undefined, REACH];
    for (const point of this.points) {
      const distance = Math.hypot(point.x - at.x, point.y - at.y);
      if (distance <= least) [found, least] = [point, distance]; // of two, the one on top
    }
    return found;
  }

  click(event) {
    const point = !this.dragged && this.nearest(event);
    if (point) this.onpick(point.series, point.id);
  }

  pointermove(event) {
    if (this.pressed) this.drag(event);
    else if (event.pointerType !== "touch") this.tell(this.nearest(event));
  }

  pointerleave() {
    this.tell(undefined);
  }

  tell(point) {
    this.tip.hidden = !point;
    this.area.classList.toggle("pointing", Boolean(point));
    if (!point) return;
    const [first, ...rest] = point.series.lines(point.id);
    this.tip.replaceChildren(make("b", {}, first), ...rest.flatMap((line) => [make("br"), line]));
    // Below and to the right, where the points of a front seldom are.
    const left = beside(point.x, 12, this.tip.offsetWidth, this.area.clientWidth);
    const top = beside(point.y, 8, this.tip.offsetHeight, this.area.clientHeight);
    this.tip.style.inset = `${top}px auto auto ${left}px`;
  }

  // -- a box to zoom into ------------------------------------------------------------------------

  pointerdown(event) {
    this.dragged = undefined;
    // On a touch screen a drag scrolls the page.
    if (event.pointerType === "touch" || event.button !== 0) return;
    this.pressed = this.where(event);
    this.area.setPointerCapture(event.pointerId);
  }

  drag(event) {
    const { left, right, top, bottom } = this.frame;
    const at = this.where(event);
    const across = between(this.pressed.x, at.x, left, right);
    const down = between(this.pressed.y, at.y, top, bottom);
    if (!across && !down && !this.dragged) return;
    // A box that is narrow one way is meant for the other.
    this.dragged = { x: across ?? [left, right], y: down ?? [top, bottom] };
    const { x, y } = this.dragged;
    this.tell(undefined);
    this.box.hidden = false;
    this.box.style.inset = `${y[0]}px auto auto ${x[0]}px`;
    this.box.style.width = `${x[1] - x[0]}px`;
    this.box.style.height = `${y[1] - y[0]}px`;
  }

  pointerup() {
    this.pressed = undefined;
    this.box.hidden = true;
    if (!this.dragged) return;
    const { left, right, top, bottom } = this.frame;
    const part = ([from, to], share) => from + share * (to - from);
    const { x, y } = this.dragged;
    this.onbox({
      x: x.map((at) => part(this.picture.x.range, (at - left) / (right - left))),
      y: y.map((at) => part(this.picture.y.range, (bottom - at) / (bottom - top))).reverse(),
    });
  }

  pointercancel() {
    this.pressed = this.dragged = undefined;
    this.box.hidden = true;
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
