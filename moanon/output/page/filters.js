// Limits on the solutions that are listed: k and l from below, loss and suppressed rows from above.

const FILTERS = ["k", "l", "loss", "entropy_loss", "suppressed"];

class Filters {
  constructor(front, onchange) {
    this.front = front;
    this.onchange = onchange;
    this.inputs = new Map();
    const names = FILTERS.filter((name) => front.names.includes(name));
    this.element = make(
      "div",
      { class: "filters", role: "group", "aria-label": "Limits" },
      ...names.map((name) => this.field(name)),
    );
  }

  field(name) {
    const unit = isShare(name) ? "\u202f%" : "";
    const side = higherIsBetter(name) ? "≥" : "≤";
    const words = `${name} ${higherIsBetter(name) ? "at least" : "at most"}`;
    const input = make("input", {
      type: "number",
      min: 0,
      step: "any",
      "aria-label": unit ? `${words}, in percent` : words,
      oninput: () => this.onchange(),
    });
    this.inputs.set(name, input);
    return make("label", { class: "choice" }, make("span", {}, `${name} ${side}`), input, unit);
  }

  clear() {
    for (const input of this.inputs.values()) input.value = "";
  }

  /** Limits that are set: [name, bound]. */
  get limits() {
    const set = [...this.inputs].filter(([, input]) => input.value !== "" && input.validity.valid);
    return set.map(([name, input]) => [name, Number(input.value) / (isShare(name) ? 100 : 1)]);
  }

  /** Whether a solution is within all limits; a share up to its rounding on the page. */
  allows(id) {
    return this.limits.every(([name, bound]) => {
      const value = this.front.value(name, id);
      const slack = isShare(name) ? 1e-9 : 0;
      return higherIsBetter(name) ? value >= bound - slack : value <= bound + slack;
    });
  }
}
