// The overview: numbers, a table of releases, and the time line of all of them.
import { count, get, h, place, since } from './dom.js';
import { entry, link, lockPill } from './words.js';

const mostEntries = 100;

export function overview(state) {
  const releases = [...state.releases.values()].sort((a, b) => a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name));
  tiles(releases);
  table(releases, state);
  const entries = [...state.log.values()].sort((a, b) => b.time.localeCompare(a.time)).slice(0, mostEntries);
  place(get('log'), entries, (e) => e.id, (e) => entry(e, state.releases.get(e.key) ?? e.release));
  get('quiet').hidden = entries.length > 0;
}

function tiles(releases) {
  const is = (...locks) => releases.filter((r) => locks.includes(r.lock)).length;
  const sum = (field) => releases.reduce((n, r) => n + r.objects[field], 0);
  const drifted = sum('drifted'), contended = sum('contended'), open = is('no', 'unknown');
  const items = [
    { name: 'Locked', n: is('yes'), of: releases.length, tone: is('yes') > 0 ? 'good' : 'quiet' },
    { name: 'Watched only', n: is('detect'), tone: is('detect') > 0 ? 'info' : 'quiet' },
    { name: 'Suspended', n: is('suspended'), tone: is('suspended') > 0 ? 'warn' : 'quiet' },
    { name: 'Not locked', n: open, tone: open > 0 ? 'warn' : 'quiet' },
    { name: 'Objects drifted', n: drifted, of: sum('tracked'), tone: drifted > 0 ? 'bad' : 'quiet' },
    { name: 'Contended', n: contended, tone: contended > 0 ? 'bad' : 'quiet' },
  ];
  place(get('tiles'), items, (t) => t.name, (t) => h('li', { class: `tile ${t.tone}` },
    h('b', {}, String(t.n), t.of !== undefined && h('small', {}, ` of ${t.of}`)), h('span', {}, t.name)));
}

function table(releases, state) {
  const words = get('filter').value.toLowerCase().split(/\s+/).filter(Boolean), attention = get('attention').checked;
  const shown = releases.filter((r) => (!attention || r.attention) && words.every((w) => `${r.namespace}/${r.name} ${r.key} ${r.reason ?? ''}`.toLowerCase().includes(w)));
  place(get('rows'), shown, (r) => r.key, row);
  get('releases').hidden = shown.length === 0;
  const none = get('none');
  none.hidden = shown.length > 0 || !state.listed;
  if (!none.hidden) none.replaceChildren(...nothing(releases.length, attention, state.operator));
}

function nothing(all, attention, operator) {
  if (all > 0) return [attention ? 'No release of that name needs attention.' : 'No release matches the filter.'];
  return [h('strong', {}, 'Nothing is locked.'), ` There is no HelmRelease in namespace ${operator.namespace}. `,
    h('code', {}, 'helm-locker lock RELEASE -n NAMESPACE'), ' makes one.'];
}

function row(r) {
  const last = r.drift?.[0];
  return h('tr', { class: r.attention ? 'attention' : false, onclick: (event) => { if (!event.target.closest('a')) location.hash = link(r); } },
    h('th', { scope: 'row' }, h('a', { href: link(r) }, h('span', { class: 'ns' }, `${r.namespace}/`), r.name), h('small', {}, r.version ? `revision ${r.version}` : 'no revision')),
    h('td', { 'data-label': 'Lock' }, lockPill(r)),
    h('td', { 'data-label': 'Drifted', class: r.objects.drifted > 0 ? 'bad number' : 'number' }, `${r.objects.drifted}/${r.objects.tracked}`,
      r.objects.contended > 0 && h('small', {}, count(r.objects.contended, 'contended object'))),
    h('td', { 'data-label': 'Last drift' }, last ? since(last.time) : h('span', { class: 'none' }, 'none')),
    h('td', { 'data-label': 'Status', class: 'status' }, h('span', { class: 'message' }, r.message || r.reason || ''), h('small', {}, r.reason ?? '', ' ', since(r.since))));
}
