// How a release differs from the cluster, as a comparison has found.
import { count, h, since } from './dom.js';

export function differences(c) {
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
