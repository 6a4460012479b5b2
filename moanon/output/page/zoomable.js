// The same picture drawn by plotly: drag to zoom, move along an axis, double click to go back.

/** Nothing that leads out of the page; zooming has its own buttons, which the keyboard reaches. */
const PLOT_CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  showLink: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  responsive: true,
  doubleClick: "reset",
};

/** Text for a plot: plotly reads tags and entities in every label. */
function plotText(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

class Zoomable {
  /** To be made when the library is there. `onmove` is called when points have moved. */
  constructor(area, { onpick, onmove }) {
    this.area = area;
    this.onpick = onpick;
    this.onmove = onmove;
  }

  get ranges() {
    const { xaxis, yaxis } = this.area.layout;
    return { x: xaxis.range, y: yaxis.range };
  }

  show({ x, y }) {
    Plotly.relayout(this.area, { "xaxis.range": [...x], "yaxis.range": [...y] });
  }

  draw(picture) {
    this.picture = picture;
    const first = !this.area.layout;
    Plotly.react(this.area, this.traces(), this.layout(), PLOT_CONFIG);
    if (!first) return;
    this.area.on("plotly_click", ({ points }) => {
      const [{ data: trace, customdata }] = points;
      this.onpick(this.picture.series[trace.meta], customdata);
    });
    this.area.on("plotly_afterplot", () => this.onmove());
  }

  layout() {
    const { x, y, margin, key } = this.picture;
    const steps = stepsIn(this.area);
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: theme.colour("muted") },
      hoverlabel: {
        bgcolor: theme.colour("card"),
        bordercolor: theme.colour("line"),
        font: { color: theme.colour("text"), size: 12 },
        align: "left",
      },
      showlegend: false,
      hovermode: "closest",
      // On a touch screen a drag scrolls the page.
      dragmode: isTouched ? false : "zoom",
      margin,
      xaxis: this.axis(x, steps.x),
      yaxis: this.axis(y, steps.y),
      // Zooming survives a change of colours, not one of axes.
      uirevision: key,
    };
  }

  axis(axis, steps) {
    return {
      type: axis.log ? "log" : "linear",
      title: { text: plotText(axis.title), standoff: 12 },
      range: [...axis.range],
      // So few that a logarithmic axis names its decades, and more only where it is zoomed.
      nticks: axis.log ? Math.max(3, Math.ceil(axis.range[1] - axis.range[0] + 0.2)) : steps,
      gridcolor: theme.colour("grid"),
      linecolor: theme.colour("line"),
      zeroline: false,
      showline: true,
      separatethousands: true,
      exponentformat: "none",
    };
  }

  traces() {
    const { series } = this.picture;
    const lines = series.map((each) => this.line(each));
    return [...lines, ...series.map((each, at) => this.points(each, at)), this.marks()];
  }

  /** The numbers that plotly places on an axis by itself. */
  numbers(axis, places) {
    return axis.log ? places.map((place) => 10 ** place) : places;
  }

  line(series) {
    const { x, y } = this.picture;
    const order = series.stairs ? alongX(series) : [];
    return {
      type: "scatter",
      mode: "lines",
      visible: !series.hidden,
      x: this.numbers(x, order.map((i) => series.xs[i])),
      y: this.numbers(y, order.map((i) => series.ys[i])),
      line: { color: series.colour, width: 1, shape: series.stairs || "linear" },
      opacity: 0.35,
      hoverinfo: "skip",
    };
  }

  points(series, at) {
    const { x, y } = this.picture;
    return {
      type: "scatter",
      mode: "markers",
      visible: !series.hidden,
      meta: at,
      x: this.numbers(x, series.xs),
      y: this.numbers(y, series.ys),
      customdata: series.ids,
      text: series.ids.map((id) => hoverText(series.lines(id))),
      hovertemplate: "%{text}<extra></extra>",
      marker: this.markers(series),
    };
  }

  markers(series) {
    const size = 2 * (series.ids.length > MANY ? SMALL_RADIUS : POINT_RADIUS);
    const line = { width: 0.5, color: theme.colour("card") };
    const plain = { size, symbol: series.symbol, color: series.colour, line, opacity: 0.85 };
    if (!series.colours) return plain;
    const { axis } = this.picture.colour;
    const bar = {
      title: { text: plotText(axis.title), side: "right" },
      thickness: 10,
      outlinewidth: 0,
      tickvals: axis.ticks(5).map(({ place }) => place),
      ticktext: axis.ticks(5).map(({ text }) => text),
    };
    return {
      ...plain,
      color: series.colours,
      colorscale: theme.scale,
      showscale: true,
      colorbar: bar,
    };
  }

  marks() {
    const { x, y, marks } = this.picture;
    return {
      type: "scatter",
      mode: "markers+text",
      x: this.numbers(x, marks.map((mark) => mark.x)),
      y: this.numbers(y, marks.map((mark) => mark.y)),
      text: marks.map((mark) => plotText(mark.text)),
      textposition: marks.map((mark) => `top ${mark.side}`),
      textfont: { size: 11, color: theme.colour("muted") },
      marker: { symbol: "diamond-open", size: 13, color: theme.colour("text") },
      hoverinfo: "skip",
      cliponaxis: false,
    };
  }
}

function hoverText([first, ...rest]) {
  return [`<b>${plotText(first)}</b>`, ...rest.map(plotText)].join("<br>");
}
