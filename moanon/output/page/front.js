// The data: measures, fronts, and their numbers as people read them.

const data = JSON.parse(document.getElementById("data").textContent);

const isShare = (name) => data.measures[name].unit.startsWith("share");
const higherIsBetter = (name) => data.measures[name].better === "max";
const isPrivacy = (name) => data.measures[name].privacy;

/** What kinds of measures are called; common ones of every kind come first. */
const KINDS = {
  common: "Common",
  privacy: "Privacy and risk",
  loss: "Loss",
  people: "People, one by one",
  others: "Others",
};

/** Names by their kinds, as [[title, names], …]. */
function byKind(names) {
  const kinds = Object.entries(KINDS).map(([kind, title]) => [
    title,
    names.filter((name) => data.measures[name].kind === kind),
  ]);
  return kinds.filter(([, found]) => found.length);
}

/** The best of a measure, as a word. */
const extreme = (name) => (higherIsBetter(name) ? "Highest" : "Lowest");

/**
 * One front: its solutions have the numbers 1, 2, … Its `privacy` is what to name first when
 * somebody asks how private: what was searched for, as attained.
 */
class Front {
  constructor(tab) {
    Object.assign(this, tab);
    this.count = tab.ways.length;
    this.names = Object.keys(tab.values);
    this.others = this.names.filter((n) => !tab.objectives.includes(n) && !tab.key.includes(n));
    this.digits = {};
    this.ranges = {};
    for (const name of this.names) {
      tab.values[name] = tab.values[name].map(numberOf);
      this.digits[name] = digitsOf(name, tab.values[name]);
    }
  }

  /** Objectives, then the other measures that most people want. */
  get main() {
    return [...new Set([...this.objectives, ...this.key])];
  }

  value(name, id) {
    return this.values[name][id - 1];
  }

  /** A value as people read it. */
  shown(name, id) {
    return format(name, this.value(name, id), this.digits[name]);
  }

  /** How many signs the longest value of a measure takes: at one of its ends, or not a number. */
  width(name) {
    const texts = this.range(name).map((value) => format(name, value, this.digits[name]));
    return Math.max(...texts.map((text) => text.length));
  }

  /** All solutions' places on an axis. */
  places(axis) {
    return Float64Array.from(this.values[axis.name], (value) => axis.place(value));
  }

  /** What a solution does to a column. */
  column(i, id) {
    const [blocks, places, widths] = this.columns[i].ways[this.ways[id - 1][i]];
    return {
      blocks,
      places,
      widths,
      rows: this.rows?.[id - 1][i],
      before: this.before?.[i] ?? [],
      effect: this.effects?.[id - 1][i],
    };
  }

  /** What a plot says about a solution. */
  lines(id) {
    const mark = this.marks[id] ? ` (${this.marks[id]})` : "";
    const proven = this.optimality[id - 1];
    return [
      `Solution ${id}${mark}`,
      ...this.main.map((name) => `${name} ${this.shown(name, id)}`),
      ...(proven ? [proven] : []),
    ];
  }

  /** The least and the greatest value of a measure, infinite ones left out. */
  range(name) {
    this.ranges[name] ??= rangeOf(this.values[name].filter(Number.isFinite));
    return this.ranges[name];
  }

  /** Whether a measure spans decades, so that a linear axis would show one end only. */
  spansDecades(name) {
    const [from, to] = this.range(name);
    if (isShare(name) || data.measures[name].unit === "values") return false; // as in the figures
    return from > 0 && to / from >= 10;
  }

  /** The solution with the best privacy whose loss is within a limit; none: 0. */
  best(limit, privacy = this.privacy) {
    let found = 0;
    for (let id = 1; id <= this.count; id++) {
      if (this.value("loss", id) > limit) continue;
      if (!found || this.isBetter(id, found, privacy)) found = id;
    }
    return found;
  }

  isBetter(id, other, privacy) {
    const [here, there] = [id, other].map((each) => this.value(privacy, each));
    if (here === there) return this.value("loss", id) < this.value("loss", other);
    return higherIsBetter(privacy) ? here > there : here < there;
  }

  /** The solution with the least loss that has at least this k, of several the most private; or 0. */
  cheapest(k) {
    let found = 0;
    for (let id = 1; id <= this.count; id++) {
      if (this.value("k", id) < k) continue;
      const lead = found ? this.value("loss", found) - this.value("loss", id) : Infinity;
      if (lead > 0 || (lead === 0 && this.value("k", id) > this.value("k", found))) found = id;
    }
    return found;
  }

  /** Whether a solution protects better than the worst of the front. */
  protects(id) {
    const [from, to] = this.range(this.privacy);
    const value = this.value(this.privacy, id);
    return higherIsBetter(this.privacy) ? value > from : value < to;
  }
}

const lowest = (fronts, name) => Math.min(...fronts.map((front) => front.range(name)[0]));
const highest = (fronts, name) => Math.max(...fronts.map((front) => front.range(name)[1]));

// -- numbers -------------------------------------------------------------------------------------

/** The least and the greatest; Math.min and Math.max take only so many arguments. */
function rangeOf(numbers) {
  let [from, to] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (number < from) from = number;
    if (number > to) to = number;
  }
  return [from, to];
}

function numberOf(written) {
  if (written === "inf") return Infinity;
  if (written === "-inf") return -Infinity;
  return written === null ? NaN : written;
}

/** As many decimals for all values of a measure, so that they line up. */
function digitsOf(name, values) {
  if (isShare(name)) return 2;
  const finite = values.filter(Number.isFinite);
  if (finite.every(Number.isInteger)) return 0;
  const most = Math.max(...rangeOf(finite).map(Math.abs));
  return most >= 1000 ? 1 : most >= 1 ? 2 : 4;
}

function format(name, value, digits) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (isShare(name)) return percent(value);
  return grouped(value, digits);
}

/** 30162 as 30,162. */
function grouped(number, digits = 0) {
  const [whole, rest] = number.toFixed(digits).split(".");
  const marked = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest ? `${marked}.${rest}` : marked;
}

function percent(share, digits = 2) {
  return `${(100 * share).toFixed(digits)}\u202f%`;
}
