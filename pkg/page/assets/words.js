// Small pieces that the list and the details share.
import { h, clock } from './dom.js';
import { link } from './address.js';

const locks = {
  yes: ['good', 'Locked'],
  detect: ['info', 'Watched'],
  suspended: ['warn', 'Suspended'],
  no: ['bad', 'Not locked'],
  stopped: ['bad', 'No operator'],
  unknown: ['quiet', 'Not looked at'],
};

export function lockPill(release) {
  const atWork = release.lock === 'no' && release.reason === 'Transitioning';
  const [tone, word] = atWork ? ['warn', 'Helm at work'] : locks[release.lock] ?? locks.unknown;
  return h('span', { class: `pill ${tone}`, title: release.suspended }, word);
}

const docs = 'https://github.com/rancher/helm-locker/blob/main/docs/troubleshooting.md';

// reason is the reason of a condition, with a link to what it means and what to do.
export function reason(name) {
  if (!/^[A-Za-z]+$/.test(name ?? '')) return name ?? '';
  return h('a', { href: `${docs}#${name.toLowerCase()}`, target: '_blank', rel: 'noreferrer', class: 'reason', title: 'What this means, and what to do' }, name);
}

const tones = { Reverted: 'good', Recreated: 'good', Replaced: 'good', Pruned: 'good', Reported: 'info', Refused: 'bad' };

// idOf tells entries of time lines apart.
export const idOf = (drift) => [drift.key, drift.time, drift.object, drift.operation, drift.what].join(' ');

// entry makes a line of a time line; named says of which release it is.
export function entry(drift, named) {
  return h('li', { class: drift.fresh ? 'fresh' : false },
    clock(drift.time),
    named && h('a', { href: link(drift.key), class: 'of' }, `${drift.namespace}/${drift.name}`),
    h('span', { class: `pill ${tones[drift.action] ?? 'quiet'}` }, drift.outcome),
    h('span', { class: 'what' }, h('b', {}, drift.object), ' ',
      h('span', { title: (drift.paths ?? []).join('\n') || false }, drift.what)));
}
