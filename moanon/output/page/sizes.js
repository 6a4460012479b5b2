// The sizes of a solution's groups as a picture: a bar for each doubling, and the cumulative curve.

const PICTURE = { width: 380, height: 176, left: 46, right: 20, top: 8, bottom: 36 };

/** Rows in groups up to each size, from the list of steps (see size_steps in page.py). */
function cumulative(listed) {
  const steps = [];
  let size = 0;
  let upTo = 0;
  for (let i = 0; i < listed.length; i += 2) {
    size += listed[i];
    upTo += listed[i + 1];
    steps.push({ size, rows: listed[i + 1], upTo });
  }
  return steps;
}

function describeSizes(steps) {
  const kept = steps.at(-1).upTo;
  const least = rowsText(steps[0].size);
  const most = rowsText(steps.at(-1).size);
  const middle = grouped(steps.find((step) => 2 * step.upTo >= kept).size);
  return (
    `Bars: the ${grouped(kept)} kept rows by the size of their group. Line: rows in groups up to ` +
    `that size. The smallest group has ${least}, the largest ${most}; half of the rows sit in ` +
    `groups of at most ${middle}.`
  );
}

const rowsText = (number) => `${grouped(number)} ${number === 1 ? "row" : "rows"}`;

function sizesPicture(steps, text) {
  const { width, height, left, right, top, bottom } = PICTURE;
  const kept = steps.at(-1).upTo;
  const first = Math.floor(Math.log2(steps[0].size));
  const last = Math.floor(Math.log2(steps.at(-1).size)) + 1;
  const x = (power) => left + ((power - first) / (last - first)) * (width - left - right);
  const y = (share) => top + (1 - share) * (height - top - bottom);
  const attributes = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": text };
  return draw(
    "svg",
    attributes,
    ...shareLines(x(first), x(last), y),
    ...doublings(steps, first, last).map((bar) => sizeBar(bar, kept, x, y)),
    draw("path", { class: "curve", d: curvePath(steps, kept, first, last, x, y) }),
    ...sizeTicks(first, last, x, height - bottom),
    draw("text", { x: (left + width) / 2, y: height - 3, class: "middle" }, "group size, rows"),
  );
}

function shareLines(from, to, y) {
  return [0, 0.5, 1].flatMap((share) => [
    draw("line", { class: "grid", x1: from, x2: to, y1: y(share), y2: y(share) }),
    draw("text", { x: from - 6, y: y(share) + 4, class: "end" }, percent(share, 0)),
  ]);
}

/** Rows from each power of two up to the next. */
function doublings(steps, first, last) {
  const bars = [];
  for (let power = first; power < last; power++) bars.push({ power, rows: 0 });
  for (const step of steps) bars[Math.floor(Math.log2(step.size)) - first].rows += step.rows;
  return bars;
}

function sizeBar({ power, rows }, kept, x, y) {
  const share = rows / kept;
  const sizes = `groups of ${grouped(2 ** power)} to ${rowsText(2 ** (power + 1) - 1)}`;
  const across = { x: x(power) + 1, width: x(power + 1) - x(power) - 2 };
  const upwards = { y: y(share), height: y(0) - y(share) };
  const title = draw("title", {}, `${sizes}: ${grouped(rows)} rows (${percent(share, 1)})`);
  return draw("rect", { class: "size", ...across, ...upwards }, title);
}

function curvePath(steps, kept, first, last, x, y) {
  const parts = steps.map((step) => {
    const [right, up] = [x(Math.log2(step.size)), y(step.upTo / kept)];
    return `H${right.toFixed(1)}V${up.toFixed(1)}`;
  });
  return `M${x(first)} ${y(0)}${parts.join("")}H${x(last)}`;
}

function sizeTicks(first, last, x, y) {
  const every = Math.ceil((last - first + 1) / 7);
  const ticks = [];
  for (let power = first; power <= last; power += every) {
    ticks.push(draw("text", { x: x(power), y: y + 15, class: "middle" }, grouped(2 ** power)));
  }
  return ticks;
}
