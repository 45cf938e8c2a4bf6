// The sources: whether each can be read, and how its changes are noticed.

import { el, keep, text, attribute } from "./dom.js";
import { ago, plural, span } from "./format.js";

const list = document.getElementById("sources");
const kept = new Map();

// states says what each state is called.
const states = { ready: "reading", failing: "failing", unread: "not read yet" };

export function drawSources(sources) {
  keep(list, kept, sources, (source) => source.name, makeCard);
}

function makeCard() {
  const name = el("h3"), chip = el("span", { class: "chip" }), what = el("p", { class: "what" });
  const error = el("p", { class: "error" }), read = el("dd"), push = el("dd"), streams = el("dd");
  const notes = el("ul", { class: "notes" });
  const keptNotes = new Map();
  const root = el("li", { class: "card" }, el("div", { class: "heading" }, name, chip), what, error,
    el("dl", {}, el("dt", {}, "Last read"), read, el("dt", {}, "Changes"), push, el("dt", {}, "Streams"), streams), notes);
  return {
    root,
    update(source) {
      text(name, source.name);
      text(chip, states[source.state] ?? source.state);
      attribute(chip, "data-state", source.state);
      attribute(root, "data-state", source.state);
      text(what, [source.preset, source.engine, source.location].filter(Boolean).join(" · "));
      text(error, source.error ?? "");
      const failures = source.failures ? `; ${plural(source.failures, "failure")} since the start` : "";
      text(read, (source.read ? `${ago(source.read)}, took ${span(source.tookMillis)}` : "never") + failures);
      text(push, pushed(source));
      text(streams, source.streams ? `${source.streams} open, ${source.waiting} waiting for a job` : "none open");
      keep(notes, keptNotes, source.notes ?? [], (note) => note, (note) => ({ root: el("li", {}, note), update() {} }));
    },
  };
}

// modes says how each way of noticing changes is called; one that is not here goes by its own name.
const modes = {
  listen: "LISTEN/NOTIFY",
  "armed bell": "the armed bell",
  tracking: "client tracking",
  events: "the library's own events",
  keyspace: "keyspace notifications",
  direct: "this process itself",
};

// pushed says how changes are noticed, and why that is not better.
function pushed({ pushMode, pushReason }) {
  const how = pushMode === "edge poll" ? "polled for while a stream waits" : `pushed by ${modes[pushMode] ?? pushMode}`;
  return pushReason ? `${how}: ${pushReason}` : how;
}
