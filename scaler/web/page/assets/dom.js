// The little that the page needs to make and keep elements. Text is only ever set as text: names of queues and errors
// are written by others.

const svgSpace = "http://www.w3.org/2000/svg";

// el makes an element. What is in properties is an attribute; true is one without a value, false and undefined none.
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(svgSpace, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) attribute(element, name, value);
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

// attribute sets what has changed only.
export function attribute(element, name, value) {
  if (value === undefined || value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value === true ? "" : value)) {
    element.setAttribute(name, value === true ? "" : value);
  }
}

// text sets an element's text, if it is another.
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

// keep makes the children of parent those of items, in their order. Elements stay with their key, so that focus and
// a reader's place do; make returns {root, update}. What is in parent up to after, if that is given, is left alone.
export function keep(parent, kept, items, keyOf, make, after = null) {
  const gone = new Set(kept.keys());
  let before = after;
  for (const item of items) {
    const key = keyOf(item);
    gone.delete(key);
    let part = kept.get(key);
    if (!part) kept.set(key, (part = make(item)));
    part.update(item);
    const next = before ? before.nextSibling : parent.firstChild;
    if (part.root !== next) parent.insertBefore(part.root, next);
    before = part.root;
  }
  for (const key of gone) {
    kept.get(key).root.remove();
    kept.delete(key);
  }
}
