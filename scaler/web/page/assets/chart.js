// Charts of a queue's last hour: an area of what was ready, a line of what ran, and a gap where nothing was read.

import { el, svg, attribute, text } from "./dom.js";
import { count, timeOfDay } from "./format.js";

// paths returns the outlines of points for a field of this size. A point by itself has a width of one step.
function paths(points, width, height, top) {
  const step = width / points.length;
  const y = (n) => (height - (n / top) * height).toFixed(1);
  let area = "", ready = "", running = "";
  points.forEach((point, i) => {
    if (!point) return;
    const x = (i * step).toFixed(1), end = ((i + 1) * step).toFixed(1);
    const first = !points[i - 1], last = !points[i + 1];
    area += `${first ? `M${x} ${height}` : ""}V${y(point[0])}H${end}${last ? `V${height}Z` : ""}`;
    ready += `${first ? `M${x} ${y(point[0])}` : `V${y(point[0])}`}H${end}`;
    running += `${first ? `M${x} ${y(point[1])}` : `V${y(point[1])}`}H${end}`;
  });
  return { area, ready, running };
}

const peak = (points, which) => points.reduce((most, point) => Math.max(most, point ? point[which] : 0), 0);

// niceTop is the least round number that holds n.
function niceTop(n) {
  if (n <= 4) return 4;
  const unit = 10 ** Math.floor(Math.log10(n));
  return [1, 1.2, 1.6, 2, 3, 4, 6, 8, 10].map((m) => m * unit).find((top) => top >= n);
}

function lines() {
  return { area: svg("path", { class: "area" }), ready: svg("path", { class: "ready" }), running: svg("path", { class: "running" }) };
}

function trace(parts, outlines) {
  for (const name of Object.keys(outlines)) attribute(parts[name], "d", outlines[name] || undefined);
}

// A spark is a small chart, for a row, with its peak in words.
export function spark() {
  const parts = lines(), most = el("span", { class: "peak" });
  const field = svg("svg", { class: "spark", viewBox: "0 0 180 34", preserveAspectRatio: "none", role: "img" }, ...Object.values(parts));
  return {
    root: el("div", { class: "small" }, field, most),
    update(points) {
      const highest = Math.max(peak(points, 0), peak(points, 1));
      trace(parts, paths(points, 180, 34, Math.max(1, highest) * 1.06));
      text(most, `peak ${count(highest)}`);
      attribute(field, "aria-label", `Last hour: at most ${count(peak(points, 0))} ready and ${count(peak(points, 1))} running`);
    },
  };
}

const margin = { left: 44, right: 8, top: 8, bottom: 22 };
const tall = 200;

// A chart is a large one, with axes, and a reading where the pointer is.
export function chart() {
  const parts = lines();
  const grid = svg("g", { class: "grid" });
  const field = svg("g", { transform: `translate(${margin.left} ${margin.top})` }, ...Object.values(parts));
  const mark = svg("line", { class: "mark", y1: margin.top, y2: tall - margin.bottom, visibility: "hidden" });
  const root = svg("svg", { class: "chart", role: "img", height: tall }, grid, field, mark);
  const reading = document.createElement("p");
  reading.className = "reading";
  let drawn = null;

  function read(event) {
    if (!drawn) return;
    const x = event.clientX - root.getBoundingClientRect().left - margin.left;
    const i = Math.floor((x / drawn.width) * drawn.points.length);
    const point = drawn.points[i];
    attribute(mark, "visibility", i in drawn.points ? "visible" : "hidden");
    const at = margin.left + ((i + 0.5) / drawn.points.length) * drawn.width;
    attribute(mark, "x1", at);
    attribute(mark, "x2", at);
    if (!(i in drawn.points)) return;
    const time = timeOfDay(drawn.end - (drawn.points.length - 1 - i) * drawn.span);
    text(reading, `${time}: ${point ? `${point[0]} ready, ${point[1]} running at most` : "not read"}`);
  }
  root.addEventListener("pointermove", read);
  root.addEventListener("pointerleave", () => {
    attribute(mark, "visibility", "hidden");
    text(reading, "");
  });

  return {
    root,
    reading,
    // update draws the points, which end at an instant and are span ms apart.
    update(points, end, span) {
      const outer = root.parentElement?.clientWidth || 640;
      const width = outer - margin.left - margin.right, height = tall - margin.top - margin.bottom;
      const top = niceTop(Math.max(peak(points, 0), peak(points, 1)));
      drawn = { points, end, span, width };
      attribute(root, "viewBox", `0 0 ${outer} ${tall}`);
      trace(parts, paths(points, width, height, top));
      grid.replaceChildren(...rules(width, height, top), ...times(width, height, end, points.length * span));
      attribute(root, "aria-label", `Last hour: at most ${peak(points, 0)} ready and ${peak(points, 1)} running; now ${points.at(-1)?.[0] ?? "unknown"} ready`);
    },
  };
}

// rules are the lines for amounts.
function rules(width, height, top) {
  return [0, 0.5, 1].flatMap((part) => {
    const y = margin.top + height * (1 - part);
    return [
      svg("line", { x1: margin.left, x2: margin.left + width, y1: y, y2: y }),
      svg("text", { x: margin.left - 6, y: y + 4, "text-anchor": "end" }, count(top * part)),
    ];
  });
}

// times are the times of day below.
function times(width, height, end, whole) {
  const quarter = 15 * 60_000;
  const all = [];
  for (let at = Math.floor(end / quarter) * quarter; at > end - whole; at -= quarter) {
    const x = margin.left + width * (1 - (end - at) / whole);
    if (x < margin.left + 16 || x > margin.left + width - 16) continue;
    all.push(
      svg("line", { class: "tick", x1: x, x2: x, y1: margin.top + height, y2: margin.top + height + 4 }),
      svg("text", { x, y: margin.top + height + 17, "text-anchor": "middle" }, timeOfDay(at)),
    );
  }
  return all;
}
