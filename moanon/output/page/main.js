// The page: tabs, each with its front, and what belongs to it.

const HEADLINE_LIMITS = [0.05, 0.1, 0.2, 0.3, 0.5];

class FrontPanel {
  constructor(front) {
    this.front = front;
    const select = (id) => this.select(id);
    const choose = (ids) => this.choose(ids);
    this.plot = new FrontPlot(front, { onselect: select, onchoose: choose });
    this.solution = new SolutionView(front, { onselect: select, onpin: (id) => this.pin(id) });
    this.pair = new Pair(front, () => this.pin(0));
    this.table = new SolutionTable(front, { onselect: select, onchoose: choose });
    this.element = make(
      "div",
      { class: "panel" },
      this.headline(),
      make(
        "div",
        { class: "two" },
        make("div", { class: "left" }, this.plot.element, this.pair.element, this.table.element),
        this.solution.element,
      ),
      make("div", { class: "background" }, this.howMade(), this.meanings()),
    );
  }

  /** Draw for the first time, or again after the panel was hidden. */
  show() {
    if (!this.selected) this.select(this.firstChoice());
    this.plot.draw();
    this.table.drawRows();
    this.table.reveal();
  }

  firstChoice() {
    const { front } = this;
    if (front.first) return front.first;
    const found = front.best(0.25);
    // One that protects nobody is no example.
    return found && front.protects(found) ? found : Math.ceil(front.count / 2);
  }

  select(id) {
    this.selected = id;
    this.plot.show(id);
    this.solution.show(id);
    this.pair.show(id);
    this.table.show(id);
    const numbers = this.front.objectives.map((name) => `${name} ${this.front.shown(name, id)}`);
    say(`Solution ${id}: ${numbers.join(", ")}`);
  }

  /** Keep a solution beside those that are selected next; 0: none. */
  pin(id) {
    this.pair.pin(id);
    this.pair.show(this.selected);
    if (id) say(`Solution ${id} is kept for comparison; select another one`);
  }

  /**
   * List these solutions alone, as far as they are within the limits, and let them stand out in the
   * plot; of none, all that are within the limits. Not said: those that were. null: all, no limits.
   */
  choose(ids) {
    const { filters } = this.table;
    if (ids === null) filters.clear();
    if (ids !== undefined) this.boxed = ids?.length ? ids : null;
    let chosen = this.boxed;
    if (filters.limits.length) {
      chosen = (chosen ?? this.table.everything).filter((id) => filters.allows(id));
    }
    this.plot.chart.choose(chosen);
    this.table.list(chosen);
    say(chosen ? `${grouped(chosen.length)} solutions chosen` : "All solutions are listed");
  }

  // -- around the plot ---------------------------------------------------------------------------

  headline() {
    const { front } = this;
    const count = grouped(front.count);
    const tiles = [["solutions", count]];
    for (const name of front.objectives) {
      tiles.push([name, rangeText(front, name)]);
    }
    return make(
      "section",
      { class: "headline", "aria-label": "In numbers" },
      make(
        "div",
        { class: "tiles" },
        ...tiles.map(([name, text]) =>
          make("div", { class: "tile" }, make("span", {}, name), make("strong", {}, text)),
        ),
      ),
      this.answers(),
    );
  }

  /** What a publisher asks first: how private for how much. */
  answers() {
    const { front } = this;
    const buttons = [];
    for (const limit of HEADLINE_LIMITS) {
      const id = front.best(limit);
      if (!id) continue;
      buttons.push(
        make(
          "button",
          { type: "button", onclick: () => this.select(id), title: `Show solution ${id}` },
          make("span", {}, percent(limit, 0)),
          make("strong", {}, front.shown(front.privacy, id)),
        ),
      );
    }
    if (!buttons.length) return "";
    const asked = `${extreme(front.privacy)} ${front.privacy} for a loss of at most`;
    const label = make("span", { class: "asked" }, asked);
    return make("div", { class: "answers" }, label, make("div", { class: "choices" }, ...buttons));
  }

  howMade() {
    const { front } = this;
    const list = make("dl", { class: "facts" });
    for (const [label, text] of [["Suppression", front.rule], ...front.facts]) {
      list.append(make("dt", {}, label), make("dd", {}, text));
    }
    const section = make(
      "section",
      { class: "card", "aria-label": "How this was made" },
      make("h2", {}, "How this was made"),
      list,
    );
    if (front.course) section.append(courseView(front.course));
    if (front.config) {
      const text = make("pre", { tabindex: 0 }, front.config);
      section.append(make("details", {}, make("summary", {}, "Configuration (config.yaml)"), text));
    }
    return section;
  }

  /** What the numbers mean, common ones first; where they come from is for those who ask. */
  meanings() {
    const { front } = this;
    const section = make(
      "section",
      { class: "card", "aria-label": "What the numbers mean" },
      make("h2", {}, "What the numbers mean"),
    );
    const sources = make("dl", { class: "facts" });
    byKind(front.names).forEach(([title, names], i) => {
      const list = make("dl", { class: "facts" });
      for (const name of names) {
        const { meaning, unit, source } = data.measures[name];
        list.append(make("dt", {}, name), make("dd", {}, meaning, unit ? ` (${unit})` : ""));
        if (source) sources.append(make("dt", {}, name), make("dd", {}, source));
      }
      section.append(
        i ? make("details", {}, make("summary", {}, title), list) : list, // common ones are open
      );
    });
    const heading = make("summary", {}, "Definitions and their sources, for experts");
    section.append(make("details", {}, heading, sources));
    return section;
  }
}

/** How the hypervolume grew with the evaluations. */
function courseView([evaluations, volumes]) {
  const [width, height] = [380, 90];
  const [least, most] = rangeOf(volumes);
  const x = (value) => (value / evaluations.at(-1)) * width;
  const y = (value) => height - ((value - least) / (most - least || 1)) * (height - 4) - 2;
  const points = evaluations.map((each, i) => `${x(each).toFixed(1)} ${y(volumes[i]).toFixed(1)}`);
  const words =
    `Hypervolume from ${least.toFixed(4)} to ${most.toFixed(4)} over ` +
    `${grouped(evaluations.at(-1))} evaluations; the last tenth is shaded.`;
  const shade = { class: "size", x: 0.9 * width, y: 0, width: 0.1 * width, height };
  const picture = draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
    draw("rect", shade),
    draw("path", { class: "curve", d: `M${points.join("L")}` }),
  );
  return make("div", { class: "sizes" }, picture, make("p", { class: "hint" }, words));
}

/** From where to where, in few digits. */
function rangeText(front, name) {
  if (!front.range(name).every(Number.isFinite)) return "–";
  const factor = isShare(name) ? 100 : 1;
  const digits = front.digits[name] > 2 ? 3 : 1; // more where all values are below 1
  const text = (value) => grouped(value * factor, digits).replace(/\.0+$/, "");
  const [from, to] = front.range(name).map(text);
  const unit = isShare(name) ? "\u202f%" : "";
  return from === to ? from + unit : `${from} – ${to}${unit}`;
}

// -- tabs ----------------------------------------------------------------------------------------

class Tabs {
  constructor(main, views) {
    this.views = views;
    this.list = make("div", { class: "tabs", role: "tablist", "aria-label": "Fronts" });
    this.buttons = views.map((view, i) =>
      make(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${i}`,
          "aria-controls": `panel-${i}`,
          onclick: () => this.open(i),
          onkeydown: (event) => this.onkey(event, i),
        },
        view.title,
      ),
    );
    this.panels = views.map((_, i) =>
      make("div", { id: `panel-${i}`, role: "tabpanel", "aria-labelledby": `tab-${i}` }),
    );
    this.list.append(...this.buttons);
    if (views.length > 1) main.append(this.list);
    else this.panels[0].removeAttribute("role");
    main.append(...this.panels);
  }

  /** Show a tab; its contents are made when it is first seen. */
  open(at) {
    this.at = at;
    this.buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === at));
      button.tabIndex = i === at ? 0 : -1;
      this.panels[i].hidden = i !== at;
    });
    this.buttons[at].scrollIntoView({ block: "nearest", inline: "nearest" });
    const view = this.views[at];
    if (!view.panel) {
      view.panel = view.make();
      this.panels[at].append(view.panel.element);
    }
    view.panel.show();
    return view.panel;
  }

  onkey(event, at) {
    const last = this.views.length - 1;
    const to = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.buttons[to].focus();
    this.open(to);
  }
}

function comparisonTitle(fronts, members) {
  if (members.length === fronts.length) return "Compare";
  return `Compare ${fronts[members[0]].objectives.join(", ")}`;
}

/** On paper: light, with every row. */
function preparePrinting(tabs) {
  const root = document.documentElement;
  let chosen;
  const redraw = (printing) => {
    for (const listener of theme.listeners) listener();
    const { panel } = tabs.views[tabs.at];
    panel.show();
    panel.table?.drawRows(printing);
  };
  addEventListener("beforeprint", () => {
    chosen = root.dataset.theme;
    root.dataset.theme = "light";
    redraw(true);
  });
  addEventListener("afterprint", () => {
    if (chosen) root.dataset.theme = chosen;
    else delete root.dataset.theme;
    requestAnimationFrame(() => redraw(false)); // when the page is as wide as its window again
  });
}

function start() {
  theme.start();
  const fronts = data.tabs.map((tab) => new Front(tab));
  const views = fronts.map((front) => ({ title: front.title, make: () => new FrontPanel(front) }));
  const open = (at, id) => {
    const panel = tabs.open(at);
    panel.select(id);
    tabs.buttons[at].focus();
  };
  for (const compared of data.comparisons) {
    const title = comparisonTitle(fronts, compared.members);
    views.push({ title, make: () => new Comparison(fronts, compared, open) });
  }
  const tabs = new Tabs(document.getElementById("main"), views);
  // Axes are given where somebody asked for this very comparison.
  const asked = data.comparisons.findIndex(({ axes }) => axes);
  tabs.open(asked < 0 ? 0 : fronts.length + asked);
  preparePrinting(tabs);
  say("");
  performance.mark("ready");
  document.documentElement.dataset.ready = "true";
}

start();
