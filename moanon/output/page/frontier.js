// Releases on the plane of privacy loss and utility loss.

const data = JSON.parse(document.getElementById("data").textContent);
const COSTS = { u_loss: "utility loss, nats", query_error: "mean relative error of COUNT queries" };
const SIZE = { width: 860, height: 460, left: 66, right: 14, top: 12, bottom: 44 };
const LEAST_ERROR = 0.001; // smaller ones are drawn there, where errors go by powers of ten
const METHODS = { generalized: "groups generalized", bucketized: "groups as buckets" };

const state = { cost: "u_loss", hidden: new Set(), chosen: null, efficientOnly: false };
const series = [...new Set(data.releases.map((release) => release.series))];
const costs = Object.keys(COSTS).filter((name) => data.releases.some((each) => each[name] !== null));

function number(value, digits = 4) {
  return value === null ? "–" : value.toFixed(digits);
}

function percent(value, otherwise) {
  return value === null ? otherwise : `${(100 * value).toFixed(1)} %`;
}

function colourOf(release) {
  return theme.distinct[series.indexOf(release.series) % theme.distinct.length];
}

function shown() {
  return data.releases.filter(
    (each) => !state.hidden.has(each.series) && !state.hidden.has(each.method) &&
      each[state.cost] !== null && (!state.efficientOnly || each.efficient),
  );
}

function ticks(most) {
  const power = 10 ** Math.floor(Math.log10(most / 5));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power * 6 >= most);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let at = 0; at * step <= most; at++) found.push([at * step, (at * step).toFixed(digits)]);
  return found;
}

/** Ticks of a scale by powers of ten, and how far up it a value is, from 0 to 1. */
function powers(values) {
  const [low, high] = [Math.max(LEAST_ERROR, Math.min(...values)), Math.max(...values)].map(Math.log10);
  const [bottom, top] = [low - 0.04 * (high - low), high + 0.04 * (high - low)];
  const found = [];
  for (let power = Math.floor(bottom); power <= top; power++) {
    for (const factor of [1, 2, 5]) {
      const value = factor * 10 ** power;
      if (Math.log10(value) >= bottom && Math.log10(value) <= top) found.push([value, String(+value.toPrecision(1))]);
    }
  }
  return { ticks: found, up: (value) => (Math.log10(Math.max(LEAST_ERROR, value)) - bottom) / (top - bottom) };
}

/** The same for a scale from 0; errors of queries that differ by much go by powers of ten. */
function scale(values) {
  const most = 1.04 * Math.max(1e-6, ...values);
  if (state.cost === "query_error" && most > 30 * Math.max(LEAST_ERROR, Math.min(...values))) return powers(values);
  return { ticks: ticks(most), up: (value) => value / most };
}

function chart() {
  const releases = shown();
  const most = 1.04 * Math.max(1e-6, ...releases.map((each) => each.p_loss));
  const costScale = scale(releases.map((each) => each[state.cost]));
  const x = (value) => SIZE.left + (value / most) * (SIZE.width - SIZE.left - SIZE.right);
  const y = (value) => SIZE.height - SIZE.bottom - costScale.up(value) * (SIZE.height - SIZE.bottom - SIZE.top);
  const box = `0 0 ${SIZE.width} ${SIZE.height}`;
  const label = `${releases.length} releases: privacy loss against ${COSTS[state.cost]}`;
  const svg = draw("svg", { viewBox: box, class: "words", role: "img", "aria-label": label });
  for (const [value, text] of ticks(most)) {
    svg.append(draw("text", { x: x(value), y: SIZE.height - 24, class: "middle" }, text));
  }
  for (const [value, text] of costScale.ticks) {
    svg.append(draw("line", { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: y(value), y2: y(value), class: "line" }));
    svg.append(draw("text", { x: SIZE.left - 8, y: y(value) + 4, class: "end" }, text));
  }
  const middle = (SIZE.left + SIZE.width) / 2;
  svg.append(draw("text", { x: middle, y: SIZE.height - 4, class: "middle title" }, "privacy loss, nats (lower is more private)"));
  const turned = `rotate(-90 14 ${SIZE.height / 2})`;
  svg.append(draw("text", { x: 14, y: SIZE.height / 2, class: "middle title", transform: turned }, COSTS[state.cost]));
  if (state.cost === "u_loss") {
    const stairs = releases.filter((each) => each.efficient).sort((a, b) => a.p_loss - b.p_loss || b.u_loss - a.u_loss);
    let path = "";
    stairs.forEach((each, i) => {
      path += i ? `H${x(each.p_loss)}V${y(each.u_loss)}` : `M${x(each.p_loss)} ${y(each.u_loss)}`;
    });
    if (path) svg.append(draw("path", { d: path, fill: "none", stroke: theme.colour("muted") }));
  }
  for (const each of releases) svg.append(point(each, x(each.p_loss), y(each[state.cost])));
  return svg;
}

function point(release, cx, cy) {
  const colour = colourOf(release);
  const chosen = release === state.chosen;
  const circle = draw("circle", {
    cx, cy, r: chosen ? 7 : 4.5, stroke: chosen ? theme.colour("chosen") : colour, "stroke-width": chosen ? 3 : 1.5,
    fill: release.method === "generalized" ? colour : theme.colour("card"), tabindex: 0, role: "button",
    "aria-label": `${release.name}, ${METHODS[release.method]}: privacy loss ${number(release.p_loss)}, ${COSTS[state.cost]} ${number(release[state.cost])}`,
  });
  circle.append(draw("title", {}, `${release.name}, ${METHODS[release.method]}`));
  circle.style.cursor = "pointer";
  const choose = () => {
    state.chosen = release;
    say(circle.getAttribute("aria-label"));
    render();
  };
  circle.addEventListener("click", choose);
  circle.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose();
    }
  });
  return circle;
}

function details() {
  const release = state.chosen;
  if (!release) return make("div", { class: "card" }, make("p", { class: "hint" }, "Click a point to see its release."));
  const rows = [
    ["published as", METHODS[release.method]],
    ["privacy loss", `${number(release.p_loss)} nats`],
    ["utility loss", `${number(release.u_loss, 5)} nats`],
    ["error of COUNT queries", percent(release.query_error, "not asked")],
    ["smallest group", release.k.toLocaleString("en")],
    ["groups", release.groups.toLocaleString("en")],
    ["rows suppressed", release.suppressed.toLocaleString("en")],
    ["efficient", release.efficient ? "yes" : "no"],
  ];
  const table = make("table", {}, ...rows.map(([name, text]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, text))));
  const card = make("div", { class: "card" }, make("h2", {}, release.name), table);
  if (release.method === "bucketized") card.append(make("p", { class: "note" }, data.presence));
  if (release.id !== null) {
    const bucketize = release.method === "bucketized" ? " --bucketize" : "";
    card.append(make("p", { class: "hint" }, "To release it:"));
    card.append(make("pre", {}, make("code", {}, `${release.command} ${release.id}${bucketize} --out release.csv`)));
  }
  return card;
}

function toggle(key, text) {
  const pressed = !state.hidden.has(key);
  const change = () => {
    if (pressed) state.hidden.add(key);
    else state.hidden.delete(key);
    render();
  };
  return make("button", { type: "button", class: "quiet", "aria-pressed": String(pressed), onclick: change }, `${pressed ? "✓" : "✕"} ${text}`);
}

function tools() {
  const choose = make("select", { "aria-label": "vertical axis", class: "wide", onchange: (event) => { state.cost = event.target.value; render(); } },
    ...costs.map((name) => make("option", { value: name, selected: name === state.cost }, COSTS[name])));
  const only = make("input", { type: "checkbox", checked: state.efficientOnly, onchange: (event) => { state.efficientOnly = event.target.checked; render(); } });
  const bar = make("div", { class: "tools" }, make("label", { class: "choice" }, make("span", {}, "shown upwards"), choose), make("label", { class: "choice" }, only, "efficient ones only"));
  if (series.length > 1) for (const name of series) {
    const button = toggle(name, name);
    button.style.borderColor = theme.distinct[series.indexOf(name) % theme.distinct.length];
    bar.append(button);
  }
  const methods = [...new Set(data.releases.map((release) => release.method))];
  if (methods.length > 1) for (const method of methods) bar.append(toggle(method, METHODS[method]));
  return bar;
}

function tile(words, text) {
  return make("div", { class: "tile" }, make("span", {}, words), make("strong", {}, text));
}

function list() {
  const found = data.releases.filter((each) => each.efficient).sort((a, b) => a.p_loss - b.p_loss);
  const heads = ["release", "published as", "privacy loss", "utility loss", "query error"];
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)));
  const rows = found.map((each) => {
    const choose = () => { state.chosen = each; render(); };
    const cells = [METHODS[each.method], number(each.p_loss), number(each.u_loss, 5), percent(each.query_error, "–")];
    const name = make("button", { type: "button", class: "link", onclick: choose }, each.name);
    return make("tr", { "aria-selected": String(each === state.chosen), onclick: choose }, make("th", { scope: "row" }, name), ...cells.map((text) => make("td", {}, text)));
  });
  return make("div", { class: "card" }, make("h2", {}, "The efficient frontier"), make("div", { class: "window" }, make("table", { class: "releases" }, make("thead", {}, head), make("tbody", {}, ...rows))));
}

function render() {
  const tiles = make("div", { class: "tiles" },
    tile("releases", data.releases.length.toLocaleString("en")),
    tile("efficient", data.releases.filter((each) => each.efficient).length.toLocaleString("en")),
    tile("large subpopulations", data.populations.toLocaleString("en")),
    tile("of at least", `${+(100 * data.min_support).toPrecision(6)} % of the rows`),
    tile("utility loss without quasi-identifiers", number(data.no_quasi)));
  const plot = make("div", { class: "card" }, tools(), make("div", { class: "plot" }, chart()), make("p", { class: "hint" }, "Filled points publish generalized groups, open ones buckets."));
  const left = make("div", { class: "left" }, plot, list());
  document.getElementById("main").replaceChildren(make("div", { class: "headline" }, tiles), make("div", { class: "two" }, left, details()));
}

theme.listeners.push(render);
theme.start();
