// All about one release: its status, its objects, and how it differs from the cluster now.
import { lastList } from './address.js';
import { differences } from './differences.js';
import { compare, count, get, h, place, since } from './dom.js';
import { load } from './operator.js';
import { entry, idOf, lockPill, reason } from './words.js';

let shown = ''; // the key that the frame is for
let asking = null; // aborts what the frame has asked for when it is left
let status = null, row = null; // all that is known, and the row of the list that it belongs to
let problem = '';

// detail draws a release, and asks for its status when its row in the list is another one than before.
export function detail(state, key, draw) {
  const release = state.releases.get(key), section = get('detail');
  if (shown !== key || !section.firstChild) {
    leave();
    shown = key;
    asking = new AbortController();
    section.replaceChildren(...frame());
  }
  if (release && row !== release.received) {
    row = release.received;
    refresh(key, draw);
  }
  const known = release && status && { ...status, lock: release.lock, attention: release.attention };
  place(get('about'), [known ?? { key, gone: !release, listed: state.listed, problem }], () => 'about', (r) => r.objects ? about(r) : absent(r));
  get('facts').hidden = !known;
  for (const id of ['compare', 'diff', 'objects']) get(id).hidden = !state.operator.compares;
  get('compares-not').hidden = state.operator.compares;
  if (!known) return;
  const entries = new Map((known.drift ?? []).map((e) => [idOf(e), e])); // the time line may not go back as far
  for (const e of state.log.values()) if (e.key === key) entries.set(e.id, e);
  place(get('own'), [...entries.values()].sort((a, b) => compare(b.time, a.time)), idOf, (e) => entry(e, false));
  get('own-none').hidden = entries.size > 0;
  place(get('conditions'), known.conditions ?? [], (c) => c.type, (c) => h('tr', {},
    h('th', { scope: 'row' }, c.type), h('td', { 'data-label': 'Status' }, c.status), h('td', { 'data-label': 'Reason' }, reason(c.reason)),
    h('td', { 'data-label': 'Since' }, since(c.since)), h('td', { 'data-label': 'Message', class: 'status' }, c.message ?? '')));
  const exceptions = known.exceptions ?? [];
  get('left').hidden = exceptions.length === 0;
  place(get('exceptions'), exceptions, (e) => JSON.stringify(e), (e) => h('li', {},
    h('b', {}, e.object), ` ${e.reason}`, e.fields && `: ${e.fields}`, e.message && h('small', {}, e.message)));
  get('more').textContent = known.moreExceptions > 0 ? `and ${known.moreExceptions} more` : '';
}

async function refresh(key, draw) {
  const mine = asking, asked = row;
  try {
    const found = await load('release', key, mine.signal);
    if (row !== asked || asking !== mine) return; // a later answer is on its way
    status = found;
    problem = '';
    draw();
  } catch (error) {
    if (mine.signal.aborted) return;
    problem = error.message;
    draw();
  }
}

// leave forgets the release that was shown, and its diff with it.
export function leave() {
  asking?.abort();
  asking = status = row = null;
  shown = problem = '';
  get('detail').replaceChildren();
}

function frame() {
  const table = (id, ...names) => h('table', {}, h('thead', {}, h('tr', {}, names.map((n) => h('th', { scope: 'col' }, n)))), h('tbody', { id }));
  const card = (title, ...children) => h('section', { class: 'card' }, h('div', { class: 'bar' }, h('h2', {}, title)), ...children);
  const left = card('Left to others', h('ul', { id: 'exceptions', class: 'plain' }), h('p', { id: 'more', class: 'note' }));
  left.id = 'left';
  return [
    h('p', {}, h('a', { href: lastList(), class: 'back' }, '← All releases')),
    h('div', { id: 'about' }),
    h('div', { id: 'facts' },
      h('section', { class: 'card' },
        h('div', { class: 'bar' }, h('h2', {}, 'What differs now'), h('button', { id: 'compare', type: 'button', onclick: ask }, 'Compare with the cluster')),
        h('div', { id: 'diff', 'aria-live': 'polite' },
          h('p', { class: 'empty' }, 'Compares every object of the release that you may get with the cluster when you ask. Values of Secrets are masked.')),
        h('p', { id: 'compares-not', class: 'empty' }, 'This page does not ask who you are (--page-auth), so it shows no content of objects. helm-locker diff does, with your own rights.'),
        h('details', { id: 'objects', ontoggle: objects }, h('summary', {}, 'Objects that the release declares'), h('div', { id: 'declared', 'aria-live': 'polite' }))),
      card('Recent drift', h('p', { id: 'own-none', class: 'empty' }, 'Nothing has drifted that the status remembers.'), h('ol', { id: 'own', class: 'log' })),
      card('Conditions', table('conditions', 'Condition', 'Status', 'Reason', 'Since', 'Message')),
      left),
  ];
}

function absent({ key, gone, listed, problem: why }) {
  if (why) return h('div', {}, h('h1', { tabindex: '-1' }, key), h('p', { class: 'banner bad' }, why));
  return h('div', {}, h('h1', { tabindex: '-1' }, key),
    h('p', { class: 'empty' }, !listed ? 'Waiting for the list.' : gone ? `There is no HelmRelease ${key}: the release is not locked.` : 'Reading the release…'));
}

function about(r) {
  const o = r.objects;
  const facts = [
    ['HelmRelease', r.key], ['Policy', r.policy], ['State', [r.state, r.version ? `revision ${r.version}` : ''].filter(Boolean).join(', ')],
    ['Locked revision', r.revision || ''], ['Suspended', r.suspended], ['Mode', r.mode], ['Scope', r.scope], ['Looked after by', r.owner],
    ['Objects', [`${o.tracked} tracked`, `${o.drifted} drifted`, `${o.contended} contended`, `${o.waiting} waiting`].join(', ')],
    ['Additions', o.additions > 0 && `${count(o.additions, 'object')} of which scope Strict would remove what others added`],
  ].filter(([, value]) => value);
  return h('div', {}, h('h1', { tabindex: '-1' }, `${r.namespace}/${r.name} `, lockPill(r)),
    h('p', { class: r.attention ? 'lead bad' : 'lead' }, r.message, ' ', reason(r.reason)),
    h('dl', {}, facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value))))));
}

async function ask() {
  const button = get('compare');
  button.disabled = true;
  await fill(get('diff'), 'Comparing…', 'diff', differences);
  button.disabled = false;
}

// objects lists what the release declares when the list is opened for the first time.
function objects() {
  if (get('objects').open && !get('declared').querySelector('li')) fill(get('declared'), 'Reading…', 'objects', names);
}

function names({ objects: all, omitted, revision }) {
  const known = (object) => [
    ...(status?.exceptions ?? []).filter((e) => e.object === object).map((e) => `left to others: ${e.reason}`),
    ...(status?.drift ?? []).filter((d) => d.object === object).slice(0, 1).map((d) => `last drift: ${d.what}, ${d.outcome}`),
  ].join('; ');
  return [
    h('p', { class: 'note' }, `${count(all.length + (omitted ?? 0), 'object')} in revision ${revision}.`),
    h('ul', { class: 'plain' }, all.map((object) => h('li', {}, h('b', {}, object), ' ', h('small', {}, known(object))))),
    omitted > 0 && h('p', { class: 'note' }, `and ${omitted} more; helm-locker inspect lists all.`),
  ].filter(Boolean);
}

// fill asks for something about the release that is shown, and puts what is made of the answer, or the error, into an element.
async function fill(target, waiting, path, make) {
  const mine = asking;
  target.replaceChildren(h('p', { class: 'empty' }, waiting));
  try {
    target.replaceChildren(...make(await load(path, shown, mine.signal)));
  } catch (error) {
    if (!mine.signal.aborted) target.replaceChildren(h('p', { class: 'banner bad' }, error.message));
  }
}
