// What makes and updates the document. Texts only ever become text nodes; the page's policy refuses anything else.

// h makes an element: attributes by name (false leaves one out), then children, which are nodes or texts.
export function h(tag, attributes, ...children) {
  return made(document.createElement(tag), attributes, children);
}

// svg is h for the elements of a picture.
export function svg(tag, attributes, ...children) {
  return made(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const get = (id) => document.getElementById(id);

// place makes the children of a parent those of the items, in their order. A child of which nothing has changed is kept; focus
// stays with one that is made again.
export function place(parent, items, keyOf, make) {
  const old = new Map([...parent.children].map((child) => [child.placed?.key, child]));
  const children = items.map((item) => {
    const key = keyOf(item), stamp = JSON.stringify(item), before = old.get(key);
    if (before?.placed.stamp === stamp) return before;
    const child = make(item);
    child.placed = { key, stamp, focused: before?.contains(document.activeElement) && document.activeElement.tagName };
    return child;
  });
  if (children.length === parent.children.length && children.every((child, i) => child === parent.children[i])) return;
  const focused = [...parent.children].find((child) => child.contains(document.activeElement));
  const element = focused && document.activeElement;
  parent.replaceChildren(...children);
  if (focused?.isConnected) element.focus({ preventScroll: true });
  else {
    const again = children.find((child) => child.placed.focused);
    again?.querySelector(again.placed.focused)?.focus({ preventScroll: true });
  }
}

let skew = 0; // of this browser's clock

export function serverSays(now) {
  skew = Date.parse(now) - Date.now();
}

export function age(time) {
  const seconds = Math.max(0, Math.floor((Date.now() + skew - Date.parse(time)) / 1000));
  if (seconds < 120) return `${seconds}s ago`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m ago`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)}h ago`;
  return `${Math.floor(seconds / 86400)}d ago`;
}

// since makes a time that says how long ago it is, and goes on saying so.
export function since(time) {
  if (!time || time.startsWith('0001-')) return h('span', {}, '');
  return h('time', { datetime: time, title: new Date(time).toLocaleString(), class: 'age' }, age(time));
}

// clock makes a time of the day, with the date when it is not today's.
export function clock(time) {
  const at = new Date(time), today = new Date().toDateString() === at.toDateString();
  const text = today ? at.toLocaleTimeString([], { hour12: false }) : `${at.toLocaleDateString()} ${at.toLocaleTimeString([], { hour12: false })}`;
  return h('time', { datetime: time, title: at.toLocaleString() }, text);
}

setInterval(() => {
  for (const element of document.querySelectorAll('time.age')) {
    const text = age(element.getAttribute('datetime'));
    if (element.textContent !== text) element.textContent = text;
  }
}, 1000);

// compare orders texts by their characters: localeCompare takes ten times as long, which a thousand releases notice.
export const compare = (a, b) => a < b ? -1 : a > b ? 1 : 0;

export const count = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;
