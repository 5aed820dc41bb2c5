// The chart of the last day's drift: a row of bars for each release and each author. The server makes all places and texts.
import { count, get, h, place, svg } from './dom.js';

export function chart(drawn) {
  get('day').hidden = !drawn;
  if (!drawn) return;
  get('day-total').textContent = count(drawn.total, 'change');
  place(get('day-notes'), drawn.notes, (note) => note, (note) => h('p', { class: 'note' }, note));
  for (const [id, group] of [['day-releases', drawn.releases], ['day-authors', drawn.authors]]) {
    place(get(id), group.rows, (r) => r.name, row);
    get(`${id}-more`).textContent = group.more ?? '';
    get(`${id}-more`).hidden = !group.more;
  }
  for (const axis of document.querySelectorAll('#day .axis')) place(axis, [drawn.from, drawn.until], (text) => text, (text) => h('span', {}, text));
}

function row(r) {
  return h('tr', {},
    h('th', { scope: 'row' }, h('bdi', {}, r.name), h('small', {}, r.with.map((text) => h('bdi', {}, text)))),
    h('td', { class: 'day' }, bars(r)),
    h('td', { class: 'number' }, String(r.total), h('small', {}, r.peak)));
}

function bars(r) {
  return svg('svg', { class: 'bars', role: 'img', viewBox: '0 0 240 31', preserveAspectRatio: 'none' },
    svg('title', {}, r.name), svg('desc', {}, r.hours),
    svg('path', { d: 'M0 30.5H240', fill: 'none', stroke: 'currentColor', 'stroke-width': 1 }),
    r.bars.map((b) => svg('rect', { x: b.x, y: b.y, width: 8, height: b.height, fill: 'currentColor' }, svg('title', {}, b.text))));
}
