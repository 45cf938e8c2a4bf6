// The form that explains what KEDA would be told.

import { el, text } from "./dom.js";
import { count, number, plural } from "./format.js";
import { Refused, ask } from "./stream.js";

const $ = (id) => document.getElementById(id);
const form = $("explain-form"), input = $("explain-text"), answer = $("explained");

// setUpExplain brings the form to life. token and state are functions that return what they are named for; refused
// is called when the token is no longer good.
export function setUpExplain(token, state, refused) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const response = await ask("page/explain", token(), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ text: input.value, namespace: $("explain-namespace").value.trim(), current: Number($("explain-current").value) }),
      });
      const { objects } = await response.json();
      answer.replaceChildren(...objects.map(objectPart));
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return refused(error);
      answer.replaceChildren(el("p", { class: "error" }, error instanceof Refused ? error.message : "The server cannot be reached."));
    }
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  $("explain-example").addEventListener("click", () => {
    input.value = example(state());
    input.focus();
  });
}

// example is a ScaledObject for the first queue there is.
function example({ sources, queues }) {
  const source = sources.find(({ name }) => queues.get(name)?.queues.length) ?? sources[0];
  const queue = queues.get(source?.name)?.queues[0]?.name ?? "default";
  return `apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: worker
spec:
  scaleTargetRef: {name: worker}
  minReplicaCount: 0
  maxReplicaCount: 20
  triggers:
    - type: external-push
      metadata:
        scalerAddress: leadsman.leadsman.svc:50051
        source: ${JSON.stringify(source?.name ?? "mail")}
        queue: ${JSON.stringify(queue)}
        metric: outstanding
        target: "10"
`;
}

function objectPart({ kind, namespace, name, triggers }) {
  const title = [kind, [namespace, name].filter(Boolean).join("/")].filter(Boolean).join(" ");
  return el("article", {}, title ? el("h3", {}, title) : null, ...triggers.map(triggerPart));
}

function triggerPart(trigger) {
  return el("div", { class: "told" },
    trigger.path ? el("p", { class: "of" }, `${trigger.path}, ${trigger.type}`) : null,
    headline(trigger),
    trigger.error ? el("p", { class: "error" }, trigger.error) : null,
    trigger.why ? el("ol", {}, ...trigger.why.map((step) => el("li", {}, step))) : null,
    trigger.queues?.length ? queuesPart(trigger.queues, trigger.leftOut) : null,
    trigger.remarks ? el("ul", { class: "notes" }, ...trigger.remarks.map((remark) => el("li", {}, remark))) : null);
}

// headline is the answer in one line.
function headline({ skipped, error, active, value, replicas, query, target }) {
  if (skipped) return el("p", { class: "note" }, skipped);
  if (active === undefined) return el("p", { class: "headline" }, query ? "KEDA would get an error, and keep the replicas" : "KEDA would be refused");
  const parts = [el("span", { class: "chip", "data-state": active ? "active" : "idle" }, active ? "active" : "idle")];
  if (!error) parts.push(el("strong", {}, plural(replicas, "replica")), el("span", {}, `value ${number(value)} / target ${number(target)}`));
  return el("p", { class: "headline" }, ...parts);
}

function queuesPart(queues, leftOut) {
  const say = ({ name, ready, running, scheduled, known }) =>
    `${name}: ${known ? `${count(ready)} ready, ${count(running)} running, ${count(scheduled)} scheduled` : "no trace of it"}`;
  const summary = el("summary");
  text(summary, plural(queues.length + (leftOut ?? 0), "queue counts", "queues count"));
  return el("details", {}, summary, el("ul", {}, ...queues.map((queue) => el("li", {}, say(queue)))));
}
