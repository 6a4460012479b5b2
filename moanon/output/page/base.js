// What every part uses: the data, elements, numbers, colours.
// Text from the data enters the page as text nodes, attribute values and escaped plot labels only.

const data = JSON.parse(document.getElementById("data").textContent);

/** An element with attributes; children are elements or texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function quietButton(text, title, onclick) {
  const attributes = { type: "button", class: "quiet", title, "aria-label": title, onclick };
  return make("button", attributes, text);
}

/** A measure's name as text that can be broken after an underscore. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]);
}

/** The same for a drawing (SVG). */
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function say(text) {
  document.getElementById("said").textContent = text;
}

// -- numbers -------------------------------------------------------------------------------------

const isShare = (name) => data.measures[name].unit.startsWith("share");
const higherIsBetter = (name) => data.measures[name].better === "max";
const isPrivacy = (name) => data.measures[name].privacy;

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
    this.texts = {};
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

  /** A value as people read it; all values of a measure are written at once, when first needed. */
  shown(name, id) {
    const digits = this.digits[name];
    this.texts[name] ??= this.values[name].map((value) => format(name, value, digits));
    return this.texts[name][id - 1];
  }

  /** All solutions' places on an axis. */
  places(axis) {
    return this.values[axis.name].map((value) => axis.place(value));
  }

  /** What to tell about a solution in a plot. */
  lines(id) {
    const mark = this.marks[id] ? ` (${this.marks[id]})` : "";
    return [`Solution ${id}${mark}`, ...this.main.map((name) => `${name} ${this.shown(name, id)}`)];
  }

  range(name) {
    const finite = this.values[name].filter(Number.isFinite);
    return [least(finite), greatest(finite)];
  }

  /** Whether a measure spans decades, so that a linear axis would show one end only. */
  spansDecades(name) {
    const [from, to] = this.range(name);
    return !isShare(name) && from > 0 && to / from >= 30;
  }

  /** The solution with the best privacy whose loss is within a limit; none: 0. */
  best(limit) {
    let found = 0;
    for (let id = 1; id <= this.count; id++) {
      if (this.value("loss", id) > limit) continue;
      if (!found || this.isBetter(id, found)) found = id;
    }
    return found;
  }

  isBetter(id, other) {
    const [here, there] = [id, other].map((each) => this.value(this.privacy, each));
    if (here === there) return this.value("loss", id) < this.value("loss", other);
    return higherIsBetter(this.privacy) ? here > there : here < there;
  }

  /** Whether a solution protects better than the worst of the front. */
  protects(id) {
    const [from, to] = this.range(this.privacy);
    const value = this.value(this.privacy, id);
    return higherIsBetter(this.privacy) ? value > from : value < to;
  }
}

// Math.min and Math.max take only so many arguments.
const least = (numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);
const greatest = (numbers) => numbers.reduce((a, b) => Math.max(a, b), -Infinity);

const lowest = (fronts, name) => Math.min(...fronts.map((front) => front.range(name)[0]));
const highest = (fronts, name) => Math.max(...fronts.map((front) => front.range(name)[1]));

function numberOf(told) {
  if (told === "inf") return Infinity;
  if (told === "-inf") return -Infinity;
  return told === null ? NaN : told;
}

/** As many decimals for all values of a measure, so that they line up. */
function digitsOf(name, values) {
  if (isShare(name)) return 2;
  const finite = values.filter(Number.isFinite);
  if (finite.every(Number.isInteger)) return 0;
  const most = greatest(finite.map(Math.abs));
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

function axisTitle(name) {
  const unit = isShare(name) ? "%" : data.measures[name].unit;
  return unit ? `${name}, ${unit}` : name;
}

// -- colours -------------------------------------------------------------------------------------

const theme = {
  listeners: [],

  get dark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  },

  /** A colour of the style sheet. */
  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  },

  /** Colours of an ordered quantity (after cividis, whose ends would vanish in the background). */
  get scale() {
    return this.dark
      ? [[0, "#5f78c4"], [0.5, "#a8a596"], [1, "#fee838"]]
      : [[0, "#00224e"], [0.5, "#7d7c78"], [1, "#dcc43a"]];
  },

  /** Colours of things that only have to differ (Okabe and Ito). */
  get distinct() {
    return this.dark
      ? ["#56b4e9", "#e69f00", "#2fc99c", "#e59ac4", "#f0e442", "#ff8a4c", "#d0d4da"]
      : ["#0072b2", "#d55e00", "#009e73", "#b3548a", "#c98a00", "#3a9bd6", "#30343a"];
  },

  set(name) {
    document.documentElement.dataset.theme = name;
    try {
      localStorage.setItem("moanon-theme", name);
    } catch {
      // A browser may keep nothing for a file; the choice then lasts as long as the page.
    }
    this.changed();
  },

  changed() {
    document.getElementById("theme").textContent = this.dark ? "Light" : "Dark";
    for (const listener of this.listeners) listener();
  },

  start() {
    try {
      const kept = localStorage.getItem("moanon-theme");
      if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
    } catch {
      // As above.
    }
    const button = document.getElementById("theme");
    button.addEventListener("click", () => this.set(this.dark ? "light" : "dark"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.changed());
    this.changed();
  },
};

// -- what plots share ----------------------------------------------------------------------------

const isTouched = matchMedia("(pointer: coarse)").matches;

/** Room for the numbers left of a plot. */
function leftRoom(fronts, name) {
  const most = isShare(name) ? 100 : highest(fronts, name);
  // Some five ticks up to a small number have decimals.
  const decimals = most > 0 ? Math.max(0, Math.ceil(-Math.log10(most / 5))) : 0;
  return 46 + 7 * grouped(most, decimals).length;
}
