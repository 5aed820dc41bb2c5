// Small pieces that the overview and the details share.
import { h, clock } from './dom.js';

const locks = {
  yes: ['good', 'Locked'],
  detect: ['info', 'Watched'],
  suspended: ['warn', 'Suspended'],
  no: ['bad', 'Not locked'],
  unknown: ['quiet', 'Not looked at'],
};

export function lockPill(release) {
  const atWork = release.lock === 'no' && release.reason === 'Transitioning';
  const [tone, word] = atWork ? ['warn', 'Helm at work'] : locks[release.lock] ?? locks.unknown;
  return h('span', { class: `pill ${tone}`, title: release.suspended }, word);
}

const tones = { Reverted: 'good', Recreated: 'good', Replaced: 'good', Pruned: 'good', Reported: 'info', Refused: 'bad' };

// entry makes a line of a time line.
export function entry(drift, release) {
  return h('li', { class: drift.fresh ? 'fresh' : false },
    clock(drift.time),
    h('span', { class: 'what' },
      release && h('a', { href: link(release), class: 'of' }, `${release.namespace}/${release.name}`),
      h('b', {}, drift.object), ' ',
      h('span', { title: (drift.paths ?? []).join('\n') || false }, drift.what)),
    h('span', { class: `pill ${tones[drift.action] ?? 'quiet'}` }, drift.outcome));
}

export const link = (release) => `#/${release.key.split('/').map(encodeURIComponent).join('/')}`;
