// A measure along an axis: where values lie, how far the axis goes, which of its places are named.
// Places are in the axis's own numbers: percent for a share, powers of ten on a logarithmic axis.

const MARGIN = 0.055; // beyond the outermost points, as a part of what lies between them

class Axis {
  constructor(name, log, fronts) {
    this.name = name;
    this.log = log;
    const unit = isShare(name) ? "%" : data.measures[name].unit;
    this.title = unit ? `${name}, ${unit}` : name;
    const ends = [lowest(fronts, name), highest(fronts, name)].map((value) => this.place(value));
    this.ends = ends.every(Number.isFinite) ? ends : [0, 1];
    /** All of it, with some room at both ends. */
    this.whole = widened(this.ends);
  }

  /** Where a value lies; infinite or no number where the axis has no place for it. */
  place(value) {
    const shown = isShare(this.name) ? 100 * value : value;
    return this.log ? Math.log10(shown) : shown;
  }

  /** About so many places between two ends, with their texts. */
  ticks(range, number) {
    return this.log ? logTicks(range, number) : evenTicks(range, number);
  }
}

function widened([from, to]) {
  const more = from === to ? Math.abs(from) * MARGIN || 0.5 : (to - from) * MARGIN;
  return [from - more, to + more];
}

/** The smallest of 1, 2, 5, 10, … that is not smaller. */
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
}

function evenTicks([from, to], number) {
  const step = roundStep((to - from) / number);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let at = Math.ceil(from / step); at * step <= to; at++) {
    ticks.push({ place: at * step, text: grouped(at * step, digits).replace(/^-/, "−") });
  }
  return ticks;
}

/** Powers of ten; where there are too few of them, 2 and 5 of each as well, or even steps. */
function logTicks([from, to], number) {
  const every = Math.max(1, Math.ceil((to - from) / number));
  for (const factors of [[1], [1, 2, 5]]) {
    const ticks = [];
    for (let power = Math.floor(from); power <= to; power += every) {
      for (const factor of factors) {
        const place = power + Math.log10(factor);
        if (place < from || place > to) continue;
        ticks.push({ place, text: grouped(factor * 10 ** power, Math.max(0, -power)) });
      }
    }
    if (ticks.length > 2) return ticks;
  }
  const even = evenTicks([10 ** from, 10 ** to], number);
  return even.map(({ place, text }) => ({ place: Math.log10(place), text }));
}

/** Colours along an axis, in so many steps that nobody sees them. */
class Shades {
  constructor(axis) {
    this.axis = axis;
    const parts = (shade) => shade.match(/\w\w/g).map((part) => parseInt(part, 16));
    const scale = theme.scale.map(parts);
    this.shades = Array.from({ length: 65 }, (_, i) => {
      const at = (i / 64) * (scale.length - 1);
      const first = Math.min(Math.floor(at), scale.length - 2);
      const [one, other] = [scale[first], scale[first + 1]];
      const mixed = one.map((part, j) => Math.round(part + (other[j] - part) * (at - first)));
      return `rgb(${mixed.join()})`;
    });
    this.unknown = theme.colour("muted");
  }

  of(place) {
    if (!Number.isFinite(place)) return this.unknown;
    const [from, to] = this.axis.ends;
    return this.shades[Math.round(((place - from) / (to - from || 1)) * 64)];
  }
}

/** The part of two axes that is in view. It never shows more than there is. */
class View {
  constructor(x, y) {
    this.whole = { x: x.whole, y: y.whole };
    this.showAll();
  }

  get isWhole() {
    return ["x", "y"].every((axis) => span(this[axis]) >= span(this.whole[axis]) * (1 - 1e-9));
  }

  showAll() {
    this.x = [...this.whole.x];
    this.y = [...this.whole.y];
  }

  /** Show what lies between these ends; of an axis that is not named, what was shown. */
  show(ranges) {
    for (const [axis, range] of Object.entries(ranges)) this[axis] = limited(range, this.whole[axis]);
  }

  /** Show `factor` times as much of each axis named in `around`, whose place there stays. */
  zoom(factor, around) {
    const zoomed = Object.entries(around).map(([axis, place]) => [
      axis,
      this[axis].map((end) => place + (end - place) * factor),
    ]);
    this.show(Object.fromEntries(zoomed));
  }

  move(by) {
    this.show({ x: this.x.map((end) => end + by.x), y: this.y.map((end) => end + by.y) });
  }

  /** How far along an axis a place lies: in view from 0 to 1. */
  share(axis, place) {
    return (place - this[axis][0]) / span(this[axis]);
  }

  holds(place) {
    return ["x", "y"].every((axis) => {
      const share = this.share(axis, place[axis]);
      return share >= 0 && share <= 1;
    });
  }

  /** Bring a place into view, without zooming. */
  reveal(place) {
    if (this.holds(place)) return;
    const by = (axis) => place[axis] - (this[axis][0] + this[axis][1]) / 2;
    this.move({ x: by("x"), y: by("y") });
  }
}

const LEAST_PART = 1e-6; // of an axis; a closer look would show nothing but rounding
const span = ([from, to]) => to - from;

/** A part of an axis: neither too small nor beyond its ends. */
function limited([from, to], whole) {
  const least = LEAST_PART * span(whole);
  if (to - from < least) [from, to] = [(from + to - least) / 2, (from + to + least) / 2];
  if (to - from >= span(whole)) return [...whole];
  const shift = Math.max(0, whole[0] - from) - Math.max(0, to - whole[1]);
  return [from + shift, to + shift];
}
