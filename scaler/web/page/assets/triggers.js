// The triggers: what KEDA, and whoever else, has asked and was told.

import { el, keep, text, attribute } from "./dom.js";
import { ago, number, plural, span } from "./format.js";

const table = document.getElementById("triggers");
const note = document.getElementById("triggers-note");
const kept = new Map();

export function drawTriggers({ triggers, leftOut }) {
  table.hidden = triggers.length === 0;
  keep(table.tBodies[0], kept, triggers, (trigger) => JSON.stringify([trigger.namespace, trigger.object, trigger.query]), makeTrigger);
  text(note, !triggers.length
    ? "KEDA has asked nothing yet. A trigger shows here from its first poll on; until then, Explain says what it would be told."
    : leftOut ? `${plural(leftOut, "more trigger")} not shown.` : "");
}

const columns = [["Value / target", "number"], ["Replicas", "number"], ["Active", ""], ["Streams", "number"], ["Last wake", ""], ["Asked", ""]];

function makeTrigger({ namespace, object, query }) {
  const error = el("p", { class: "error" });
  const cells = columns.map(([label, kind]) => el("td", { role: "cell", class: kind, "data-label": label }));
  const [value, replicas, active, streams, wake, asked] = cells;
  const chip = el("span", { class: "chip" });
  active.append(chip);
  const last = el("span"), wakes = el("span", { class: "of" });
  wake.append(last, wakes);
  const root = el("tr", { role: "row" },
    el("th", { role: "rowheader", scope: "row" }, el("span", { class: "name" }, object), el("span", { class: "of" }, namespace)),
    el("td", { role: "cell", class: "for" }, query.says, el("span", { class: "of" }, conditions(query)), el("code", {}, query.name), error), ...cells);
  return {
    root,
    update(now) {
      text(value, `${now.value === undefined ? "–" : number(now.value)} / ${number(now.query.target)}`);
      text(replicas, now.replicas === undefined ? "–" : String(now.replicas));
      text(chip, now.active === undefined ? "not asked" : now.active ? "active" : "idle");
      attribute(chip, "data-state", now.active ? "active" : "idle");
      text(streams, String(now.streams));
      text(last, now.woken ? ago(now.woken) + (now.tookMillis ? `, in ${span(now.tookMillis)}` : "") : "–");
      text(wakes, now.wakes > 1 ? `${plural(now.wakes, "wake")} in all` : "");
      text(asked, ago(now.asked));
      text(error, now.error ?? "");
    },
  };
}

// conditions says what of a query is not as usual.
function conditions({ activation, max, readyOnly, linger, lookahead }) {
  return [
    activation ? `active above ${number(activation)}` : "",
    readyOnly ? "running jobs keep nothing active" : "",
    linger ? `lingers ${span(linger)}` : "",
    lookahead ? `looks ahead ${span(lookahead)}` : "",
    max ? `at most ${number(max)}` : "",
  ].filter(Boolean).join(" · ");
}
