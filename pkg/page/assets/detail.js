// All about one release, and how it differs from the cluster now.
import { count, get, h, place, since } from './dom.js';
import { ask } from './operator.js';
import { entry, lockPill } from './words.js';

let shown = ''; // the key that the frame is for
let asking = null; // aborts a comparison under way

export function detail(state, key) {
  const release = state.releases.get(key);
  const section = get('detail');
  if (shown !== key || !section.firstChild) {
    leave();
    shown = key;
    section.replaceChildren(...frame(key));
  }
  place(get('about'), [release ?? { gone: true, listed: state.listed }], () => 'about', (r) => r.gone ? gone(key, r.listed) : about(r));
  get('facts').hidden = !release;
  get('compare').hidden = get('diff').hidden = !state.operator.compares;
  get('compares-not').hidden = state.operator.compares;
  if (!release) return;
  const entries = [...state.log.values()].filter((e) => e.key === key).sort((a, b) => b.time.localeCompare(a.time));
  place(get('own'), entries, (e) => e.id, (e) => entry(e));
  get('own-none').hidden = entries.length > 0;
  place(get('conditions'), release.conditions ?? [], (c) => c.type, (c) => h('tr', {},
    h('th', { scope: 'row' }, c.type), h('td', { 'data-label': 'Status' }, c.status), h('td', { 'data-label': 'Reason' }, c.reason),
    h('td', { 'data-label': 'Since' }, since(c.since)), h('td', { 'data-label': 'Message', class: 'status' }, c.message ?? '')));
  const exceptions = release.exceptions ?? [];
  get('left').hidden = exceptions.length === 0;
  place(get('exceptions'), exceptions, (e) => JSON.stringify(e), (e) => h('li', {},
    h('b', {}, e.object), ` ${e.reason}`, e.fields && `: ${e.fields}`, e.message && h('small', {}, e.message)));
}

// leave forgets the release that was shown, and its diff with it.
export function leave() {
  asking?.abort();
  asking = null;
  shown = '';
  get('detail').replaceChildren();
}

function frame(key) {
  const table = (id, ...names) => h('table', {}, h('thead', {}, h('tr', {}, names.map((n) => h('th', { scope: 'col' }, n)))), h('tbody', { id }));
  return [
    h('p', {}, h('a', { href: '#/', class: 'back' }, '← All releases')),
    h('div', { id: 'about' }),
    h('div', { id: 'facts' },
      h('section', { class: 'card' },
        h('div', { class: 'bar' }, h('h2', {}, 'What differs now'), h('button', { id: 'compare', type: 'button', onclick: () => compare(key) }, 'Compare with the cluster')),
        h('div', { id: 'diff', 'aria-live': 'polite' }, 
          h('p', { class: 'empty' }, 'Compares every object of the release that you may get with the cluster when you ask. Values of Secrets are masked.')),
        h('p', { id: 'compares-not', class: 'empty' }, 'This operator does not ask who you are (--page-auth), so it shows no content of objects. helm-locker diff does, with your own rights.')),
      h('section', { class: 'card' }, h('div', { class: 'bar' }, h('h2', {}, 'Recent drift')),
        h('p', { id: 'own-none', class: 'empty' }, 'Nothing has drifted that the status remembers.'), h('ol', { id: 'own', class: 'log' })),
      h('section', { class: 'card' }, h('div', { class: 'bar' }, h('h2', {}, 'Conditions')), table('conditions', 'Condition', 'Status', 'Reason', 'Since', 'Message')),
      h('section', { class: 'card', id: 'left' }, h('div', { class: 'bar' }, h('h2', {}, 'Left to others')), h('ul', { id: 'exceptions', class: 'plain' }))),
  ];
}

function gone(key, listed) {
  return h('div', {}, h('h1', { tabindex: '-1' }, key),
    h('p', { class: 'empty' }, listed ? `There is no HelmRelease ${key}: the release is not locked.` : 'Waiting for the operator.'));
}

function about(r) {
  const o = r.objects;
  const facts = [
    ['HelmRelease', r.key], ['State', [r.state, r.version ? `revision ${r.version}` : ''].filter(Boolean).join(', ')],
    ['Locked revision', r.revision || ''], ['Suspended', r.suspended], ['Mode', r.mode], ['Scope', r.scope], ['Looked after by', r.owner],
    ['Objects', [`${o.tracked} tracked`, `${o.drifted} drifted`, `${o.contended} contended`, `${o.waiting} waiting`].join(', ')],
  ].filter(([, value]) => value);
  return h('div', {}, h('h1', { tabindex: '-1' }, `${r.namespace}/${r.name} `, lockPill(r)),
    h('p', { class: r.attention ? 'lead bad' : 'lead' }, r.message),
    h('dl', {}, facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value))))));
}

async function compare(key) {
  const button = get('compare'), target = get('diff');
  asking?.abort();
  const mine = asking = new AbortController();
  button.disabled = true;
  target.replaceChildren(h('p', { class: 'empty' }, 'Comparing…'));
  const [namespace, name] = key.split('/');
  let content;
  try {
    const answer = await ask(`diff?${new URLSearchParams({ namespace, name })}`, mine.signal);
    const body = await answer.json();
    content = answer.ok ? differences(body) : [h('p', { class: 'banner bad' }, body.error)];
  } catch (error) {
    if (mine.signal.aborted) return;
    content = [h('p', { class: 'banner bad' }, `The operator did not answer (${error.message}).`)];
  }
  if (asking !== mine) return;
  button.disabled = false;
  target.replaceChildren(...content);
}

function differences(c) {
  const n = c.differences.length + (c.omitted ?? 0);
  const verdict = n === 0 ? `No drift: ${count(c.compared, 'object')} compared with revision ${c.revision}.`
    : `${n} of ${count(c.compared, 'object')} ${n === 1 ? 'differs' : 'differ'} from revision ${c.revision}.`;
  return [
    h('p', { class: n === 0 ? 'verdict good' : 'verdict bad' }, verdict, ' ', since(c.at)),
    ...(c.notes ?? []).map((note) => h('p', { class: 'note' }, note)),
    ...(c.failures ?? []).map((failure) => h('p', { class: 'note bad' }, `Not compared: ${failure}`)),
    ...(c.withheld ?? []).map((withheld) => h('p', { class: 'note' }, `Not compared: ${withheld}`)),
    ...c.differences.map(difference),
    c.omitted > 0 && h('p', { class: 'note' }, `${count(c.omitted, 'more object')} differ; helm-locker diff shows all.`),
  ].filter(Boolean);
}

function difference(d) {
  return h('details', { open: true }, h('summary', {}, h('b', {}, d.object), ' ', d.what),
    (d.blame ?? []).map((line) => h('p', { class: 'note' }, line)),
    d.tooLarge && h('p', { class: 'note' }, 'Too large to be shown here; helm-locker diff shows it.'),
    d.lines && h('pre', { tabindex: '0', 'aria-label': `Diff of ${d.object}: lines with - are declared, lines with + are there instead` }, d.lines.map(line)),
    d.cut > 0 && h('p', { class: 'note' }, `${count(d.cut, 'more line')}; helm-locker diff shows all.`));
}

const kinds = { '+': 'ins', '-': 'del', '@': 'at' };

function line(text) {
  const parts = text.split(/(<secret [0-9a-f]{8}>)/).map((part, i) => i % 2 ? h('span', { class: 'mask', title: 'A value of a Secret: markers differ where values do' }, part) : part);
  return h('span', { class: `line ${kinds[text[0]] ?? ''}` }, ...parts, '\n');
}
