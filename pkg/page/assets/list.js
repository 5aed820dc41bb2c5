// The list of releases: tiles that filter, a table with pages, and the time line of all releases.
import { address, keepList, link, listWith } from './address.js';
import { compare, count, get, h, place, since } from './dom.js';
import { entry, lockPill, reason } from './words.js';

const perPage = 50, mostEntries = 100;

const open = (r) => ['no', 'stopped', 'unknown'].includes(r.lock);

// The states that a tile filters by.
const states = [
  { id: 'attention', name: 'Need attention', tone: 'bad', is: (r) => r.attention },
  { id: 'drifted', name: 'Drifted now', tone: 'bad', is: (r) => r.objects.drifted > 0 },
  { id: 'contended', name: 'Contended', tone: 'bad', is: (r) => r.objects.contended > 0 },
  { id: 'open', name: 'Not locked', tone: 'warn', is: open },
  { id: 'suspended', name: 'Suspended', tone: 'warn', is: (r) => r.lock === 'suspended' },
  { id: 'detect', name: 'Watched only', tone: 'info', is: (r) => r.lock === 'detect' },
  { id: 'locked', name: 'Locked', tone: 'good', is: (r) => r.lock === 'yes' },
];

const byName = (a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name);
const rank = (r) => r.objects.drifted > 0 || r.objects.contended > 0 ? 2 : r.attention ? 1 : 0;
const newest = (a, b) => compare(b.lastDrift ?? '', a.lastDrift ?? '');

// The columns, with the order that a click on them gives. Without one, what drifted comes first, and then what needs attention.
const columns = {
  release: { name: 'Release', order: byName },
  lock: { name: 'Lock', order: (a, b) => compare(a.lock, b.lock) },
  drifted: { name: 'Drifted', order: (a, b) => b.objects.drifted - a.objects.drifted || b.objects.contended - a.objects.contended },
  last: { name: 'Last drift', order: newest },
  status: { name: 'Status', order: (a, b) => compare(a.reason ?? '', b.reason ?? '') || compare(b.since, a.since) },
};

export function list(state) {
  const a = address(), releases = [...state.releases.values()];
  const words = a.q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = releases.filter((r) => (!a.ns || r.namespace === a.ns) && (!a.policy || r.policy === a.policy) && words.every((w) => r.text.includes(w)));
  keepList();
  get('overview').dataset.tab = a.tab;
  for (const tab of get('tabs').children) {
    tab.setAttribute('aria-current', String(tab.dataset.tab === a.tab));
    tab.href = listWith({ tab: tab.dataset.tab });
  }
  tiles(found, a.state);
  choices('ns', 'All namespaces', releases.map((r) => r.namespace), a.ns);
  choices('policy', 'All policies', releases.map((r) => r.policy).filter(Boolean), a.policy);
  const search = get('search');
  if (search.value !== a.q) search.value = a.q;
  table(found, a, state);
  timeline(state, found, a);
}

function tiles(releases, chosen) {
  const items = states.map((s) => ({ ...s, n: releases.filter(s.is).length, of: releases.length, chosen: s.id === chosen }));
  place(get('tiles'), items, (t) => t.id, (t) => h('li', {}, h('button', {
    type: 'button', class: `tile ${t.n > 0 ? t.tone : 'quiet'}`, 'aria-pressed': String(t.chosen), title: `Show only: ${t.name.toLowerCase()}`,
    'data-state': t.id,
  }, h('b', {}, String(t.n), h('small', {}, ` of ${t.of}`)), h('span', {}, t.name))));
}

function choices(id, all, values, chosen) {
  const select = get(id), names = [...new Set(chosen ? [...values, chosen] : values)].sort();
  select.hidden = names.length === 0;
  place(select, ['', ...names], (name) => name, (name) => h('option', { value: name }, name || all));
  if (select.value !== chosen) select.value = chosen;
}

function table(found, a, state) {
  const is = states.find((s) => s.id === a.state)?.is ?? (() => true);
  const shown = found.filter(is).sort(order(a.sort));
  const pages = Math.max(1, Math.ceil(shown.length / perPage)), page = Math.min(Math.max(1, Number(a.page) || 1), pages);
  const from = (page - 1) * perPage;
  heads(a.sort);
  place(get('rows'), shown.slice(from, from + perPage), (r) => r.key, row);
  get('releases').hidden = shown.length === 0;
  get('count').textContent = shown.length === state.releases.size ? count(shown.length, 'release') : `${shown.length} of ${count(state.releases.size, 'release')}`;
  get('clear').hidden = !(a.q || a.state || a.ns || a.policy);
  get('pages').hidden = pages === 1;
  get('page').textContent = `${from + 1}–${Math.min(from + perPage, shown.length)} of ${shown.length}`;
  for (const [id, to] of [['previous', page - 1], ['next', page + 1]]) {
    get(id).disabled = to < 1 || to > pages;
    get(id).value = to;
  }
  const none = get('none');
  none.hidden = shown.length > 0;
  if (!none.hidden) none.replaceChildren(...nothing(state));
}

function order(sort) {
  const name = sort.replace('-', ''), by = columns[name]?.order;
  if (!by) return (a, b) => rank(b) - rank(a) || newest(a, b) || byName(a, b);
  return (a, b) => (sort === name ? by(a, b) : by(b, a)) || byName(a, b);
}

function heads(sort) {
  const items = Object.entries(columns).map(([id, c]) => ({ id, name: c.name, sort: sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : 'none' }));
  place(get('heads'), items, (c) => c.id, (c) => h('th', { scope: 'col', 'aria-sort': c.sort },
    h('button', { type: 'button', class: 'sort', 'data-sort': c.sort === 'ascending' ? `-${c.id}` : c.sort === 'descending' ? '' : c.id }, c.name)));
}

function nothing({ releases, listed, operator }) {
  if (!listed) return ['Reading the releases…'];
  if (releases.size > 0) return ['No release matches the filters.'];
  return [h('strong', {}, 'Nothing is locked.'), ` There is no HelmRelease in namespace ${operator.namespace}. `,
    h('code', {}, 'helm-locker lock RELEASE -n NAMESPACE'), ' makes one.'];
}

function row(r) {
  return h('tr', { class: r.attention ? 'attention' : false },
    h('th', { scope: 'row' }, h('a', { href: link(r.key) }, h('span', { class: 'ns' }, `${r.namespace}/`), r.name),
      h('small', {}, r.version ? `revision ${r.version}` : 'no revision', r.policy && `, policy ${r.policy}`)),
    h('td', { 'data-label': 'Lock' }, lockPill(r)),
    h('td', { 'data-label': 'Drifted', class: r.objects.drifted > 0 ? 'bad number' : 'number' }, r.objects.tracked ? `${r.objects.drifted}/${r.objects.tracked}` : h('span', { class: 'none' }, 'not compared'),
      r.objects.contended > 0 && h('small', {}, `${r.objects.contended} contended`),
      r.objects.additions > 0 && h('small', {}, `${r.objects.additions} with additions`)),
    h('td', { 'data-label': 'Last drift' }, r.lastDrift ? since(r.lastDrift) : h('span', { class: 'none' }, 'none')),
    h('td', { 'data-label': 'Status', class: 'status' }, h('span', { class: 'message' }, r.message || r.reason || ''), h('small', {}, reason(r.reason), ' ', since(r.since))));
}

function timeline(state, found, a) {
  const keys = a.q || a.ns || a.policy ? new Set(found.map((r) => r.key)) : null;
  const entries = [...state.log.values()].filter((e) => !keys || keys.has(e.key)).sort((one, other) => compare(other.time, one.time)).slice(0, mostEntries);
  place(get('log'), entries, (e) => e.id, (e) => entry(e, true));
  get('quiet').hidden = entries.length > 0;
}
