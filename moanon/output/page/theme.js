// Colours: light or dark, by the system's setting or the page's button.

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
    return this.dark ? ["#5f78c4", "#a8a596", "#fee838"] : ["#00224e", "#7d7c78", "#dcc43a"];
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
