// Shapes of points, and stamps with which thousands of them are put on a canvas.

const SHAPES = {
  circle: (r) => `M${r} 0A${r} ${r} 0 1 1 ${-r} 0A${r} ${r} 0 1 1 ${r} 0Z`,
  square: (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
  diamond: (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0Z`,
  triangle: (r) => `M0 ${-1.2 * r}L${1.1 * r} ${0.8 * r}H${-1.1 * r}Z`,
  plus: (r) => cross(r),
  cross: (r) => cross(r, Math.SQRT1_2),
  star: (r) => star(1.4 * r),
};

/** A plus; turned by an eighth where its arms are so long in both directions. */
function cross(r, turned) {
  const [a, b] = [1.2 * r, 0.45 * r];
  const corners = [
    [a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b],
    [-a, b], [-a, -b], [-b, -b], [-b, -a], [b, -a], [b, -b],
  ];
  const placed = turned ? corners.map(([x, y]) => [(x - y) * turned, (x + y) * turned]) : corners;
  return `M${placed.map((corner) => corner.join(" ")).join("L")}Z`;
}

function star(r) {
  const corners = Array.from({ length: 10 }, (_, i) => {
    const [angle, out] = [(i * Math.PI) / 5, i % 2 ? 0.42 * r : r];
    return `${out * Math.sin(angle)} ${-out * Math.cos(angle)}`;
  });
  return `M${corners.join("L")}Z`;
}

/**
 * Points of one shape and size. Drawing a shape takes a browser ten times as long as copying a
 * picture of it, so there is one picture for each colour.
 */
class Stamps {
  constructor(shape, radius, scale, edge) {
    this.path = new Path2D(SHAPES[shape](radius));
    this.scale = scale;
    this.edge = edge;
    /** From a stamp's middle to its edge, in pixels: corners stick out, a circle does not. */
    this.reach = Math.ceil((shape === "circle" ? radius + 0.5 : 1.4 * radius + 1) * scale);
    this.made = new Map();
  }

  /** Stamps are kept: zooming uses the same ones again. */
  static of(...look) {
    const edge = theme.colour("card");
    const key = [...look, edge].join();
    Stamps.kept ??= new Map();
    if (!Stamps.kept.has(key)) Stamps.kept.set(key, new Stamps(...look, edge));
    return Stamps.kept.get(key);
  }

  in(colour) {
    if (!this.made.has(colour)) this.made.set(colour, this.make(colour));
    return this.made.get(colour);
  }

  make(colour) {
    const side = 2 * this.reach;
    const stamp = new OffscreenCanvas(side, side);
    const pen = stamp.getContext("2d");
    pen.translate(this.reach, this.reach);
    pen.scale(this.scale, this.scale);
    pen.globalAlpha = 0.85;
    pen.fillStyle = colour;
    pen.fill(this.path);
    pen.lineWidth = 0.5;
    pen.strokeStyle = this.edge;
    pen.stroke(this.path);
    return stamp.transferToImageBitmap();
  }
}
