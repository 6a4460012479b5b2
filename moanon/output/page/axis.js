// A measure along an axis: where values lie, how far the axis goes, which of its places are named.
// Places are in the axis's own numbers: percent for a share, powers of ten on a logarithmic axis.

const MARGIN = 0.055; // beyond the outermost points, as a part of what lies between them

class Axis {
  constructor(name, log, fronts) {
    this.name = name;
    this.log = log;
    this.title = axisTitle(name);
    const ends = [lowest(fronts, name), highest(fronts, name)].map((value) => this.place(value));
    this.ends = ends.every(Number.isFinite) ? ends : [0, 1];
    this.range = widened(this.ends);
  }

  /** Where a value lies; infinite or no number where the axis has no place for it. */
  place(value) {
    const shown = isShare(this.name) ? 100 * value : value;
    return this.log ? Math.log10(shown) : shown;
  }

  /** About so many places with their texts, at most. */
  ticks(number) {
    return this.log ? logTicks(this.range, number) : evenTicks(this.range, number);
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
  const [first, last] = [Math.ceil(from), Math.floor(to)];
  const factors = to - from >= 2 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = first - 1; power <= last; power += every) {
    for (const factor of factors) {
      const place = power + Math.log10(factor);
      if (place < from || place > to) continue;
      ticks.push({ place, text: grouped(factor * 10 ** power, Math.max(0, -power)) });
    }
  }
  if (ticks.length > 1) return ticks;
  const even = evenTicks([10 ** from, 10 ** to], number);
  return even.map(({ place, text }) => ({ place: Math.log10(place), text }));
}

/** Colours along an axis. */
class Shades {
  constructor(axis) {
    this.axis = axis;
    const parts = (shade) => shade.match(/\w\w/g).map((part) => parseInt(part, 16));
    this.scale = theme.scale.map(([, shade]) => parts(shade));
  }

  of(place) {
    if (!Number.isFinite(place)) return theme.colour("muted");
    const [from, to] = this.axis.ends;
    const at = ((place - from) / (to - from || 1)) * (this.scale.length - 1);
    const first = Math.min(Math.floor(at), this.scale.length - 2);
    const [one, other] = [this.scale[first], this.scale[first + 1]];
    const mixed = one.map((part, i) => Math.round(part + (other[i] - part) * (at - first)));
    return `rgb(${mixed.join()})`;
  }
}
