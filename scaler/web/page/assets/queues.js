// The queues, each with its last hour.

import { el, keep, text, attribute } from "./dom.js";
import { clock, count, plural, since, until } from "./format.js";
import { chart, spark } from "./chart.js";
import { keyOf, past } from "./past.js";

const table = document.getElementById("queues");
const note = document.getElementById("queues-note");
const filter = document.getElementById("filter");
const kept = new Map();

// filterFrom is how many queues there are before a filter is of use.
const filterFrom = 8;

export function drawQueues(queues, leftOut, sources) {
  document.getElementById("filter-label").hidden = queues.length < filterFrom && !filter.value;
  const wanted = filter.value.trim().toLowerCase();
  const shown = queues.filter(({ name, source }) => `${source}/${name}`.toLowerCase().includes(wanted));
  table.hidden = shown.length === 0;
  // Each queue is a group of two rows: itself and, when it is open, its large chart.
  keep(table, kept, shown, (queue) => keyOf(queue.source, queue.name), (queue) => makeQueue(queue, sources.length > 1), table.tHead);
  text(note, remark(queues, shown, leftOut, sources));
}

function remark(queues, shown, leftOut, sources) {
  if (queues.length && !shown.length) return "No queue has this in its name.";
  if (leftOut) return `${plural(leftOut, "more queue")} not shown. Those that a trigger names come first.`;
  if (queues.length) return "";
  if (sources.some((source) => source.error)) return "What cannot be read is not known. Nothing here stands for an empty queue.";
  return sources.some((source) => source.state === "ready") ? "There are no queues yet. The first job makes one." : "";
}

const columns = ["Ready", "Running", "Scheduled", "Oldest", "Workers"];

function makeQueue(queue, named) {
  const toggle = el("button", { type: "button", class: "name", "aria-expanded": "false" }, queue.name);
  const badges = el("span", { class: "badges" });
  const cells = columns.map((label) => el("td", { role: "cell", class: "number", "data-label": label }));
  const small = spark();
  const row = el("tr", { role: "row" },
    el("th", { role: "rowheader", scope: "row" }, toggle, named ? el("span", { class: "of" }, queue.source) : null, badges),
    ...cells, el("td", { role: "cell", class: "hour" }, small.root));
  const root = el("tbody", { role: "rowgroup" }, row);
  let detail = null, latest = queue, drawn = "";
  toggle.addEventListener("click", () => {
    detail?.root.remove();
    detail = detail ? null : makeDetail();
    if (detail) {
      root.append(detail.root);
      detail.update(latest);
    }
    attribute(toggle, "aria-expanded", Boolean(detail).toString());
  });
  return {
    root,
    update(now) {
      latest = now;
      const more = now.saturated ? "+" : "";
      text(cells[0], count(now.ready) + more);
      text(cells[1], count(now.running));
      text(cells[2], count(now.scheduled));
      text(cells[3], now.waits ? since(now.waits) : "–");
      text(cells[4], now.workers === undefined ? "–" : count(now.workers));
      cells.slice(0, 3).forEach((cell, i) => cell.classList.toggle("zero", ![now.ready, now.running, now.scheduled][i]));
      text(badges, [now.paused && "paused", now.stale && "last known", now.known === false && "no trace of it"].filter(Boolean).join(" · "));
      root.classList.toggle("stale", now.stale);
      const at = clock.now(), stamp = past.stamp(now, at);
      if (stamp !== drawn) small.update(past.of(now, at));
      drawn = stamp;
      detail?.update(now);
    },
  };
}

// makeDetail makes the row with the large chart.
function makeDetail() {
  const large = chart(), facts = el("p", { class: "facts" });
  const root = el("tr", { role: "row", class: "detail" },
    el("td", { role: "cell", colspan: 7 }, el("div", { class: "plot" }, large.root), large.reading, facts));
  return {
    root,
    update(queue) {
      const now = clock.now();
      large.update(past.of(queue, now), now, past.span);
      text(facts, [
        queue.due ? `the next scheduled job is due in ${until(queue.due)}` : "",
        queue.capacity === undefined ? "" : `${plural(queue.workers, "worker")} with room for ${plural(queue.capacity, "job")}`,
        queue.saturated ? "a count stopped at the source's countLimit; in truth there are more" : "",
        queue.paused ? "paused: its jobs are not ready" : "",
      ].filter(Boolean).join(" · "));
    },
  };
}

const totals = document.getElementById("totals");
const keptTotals = new Map();

// drawTotals shows all queues together.
export function drawTotals(queues) {
  const sum = (field) => queues.reduce((n, queue) => n + queue[field], 0);
  const oldest = queues.reduce((at, { waits }) => (waits && (!at || waits < at) ? waits : at), 0);
  keep(totals, keptTotals, [
    ["Ready", queues.length ? count(sum("ready")) : "–"],
    ["Running", queues.length ? count(sum("running")) : "–"],
    ["Scheduled", queues.length ? count(sum("scheduled")) : "–"],
    ["Oldest waits", oldest ? since(oldest) : "–"],
  ], ([name]) => name, makeTotal);
}

function makeTotal([name]) {
  const value = el("dd");
  return { root: el("div", {}, el("dt", {}, name), value), update: ([, now]) => text(value, now) };
}
