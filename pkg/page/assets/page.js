// Keeps what the operator tells, and draws it. The stream says all there is to know when it begins, and then what changes.
import { get, h, place, serverSays } from './dom.js';
import { listen, signIn, signOut, signedIn } from './operator.js';
import { overview } from './overview.js';
import { detail, leave } from './detail.js';

const quietLimit = 30_000; // the operator says something every 10 s
const lostPause = 2_000, fullPause = 10_000;
const mostKept = 500; // entries of the time line

const state = { releases: new Map(), log: new Map(), operator: {}, listed: false, link: 'connecting', lostAt: null, refusal: '' };
let stream, watchdog, retry, seen;

const heard = {
  operator: (operator) => { state.operator = operator; serverSays(operator.now); },
  beat: serverSays,
  release: (release) => { seen.add(release.key); remember(release); state.releases.set(release.key, release); },
  gone: (key) => state.releases.delete(key),
  listed: () => {
    for (const key of state.releases.keys()) if (!seen.has(key)) state.releases.delete(key);
    state.listed = true;
  },
};

async function connect() {
  disconnect();
  const mine = stream = new AbortController();
  watch();
  let problem;
  try {
    await listen(mine.signal, () => { seen = new Set(); }, (event, data) => {
      state.link = 'live';
      state.lostAt = null;
      watch();
      heard[event](data);
      draw();
    });
  } catch (error) {
    problem = error;
  }
  if (mine.signal.aborted) return;
  disconnect();
  if (problem?.status === 401 || problem?.status === 403) {
    refused(problem);
    return;
  }
  const full = problem?.status === 503;
  lost(full ? 'full' : 'lost');
  retry = setTimeout(connect, full ? fullPause : lostPause);
}

function disconnect() {
  clearTimeout(retry);
  clearTimeout(watchdog);
  stream?.abort();
}

// watch declares the connection lost when nothing is heard for too long.
function watch() {
  clearTimeout(watchdog);
  watchdog = setTimeout(() => { lost('lost'); connect(); }, quietLimit);
}

// refused forgets everything that was shown, and asks for a token. One that was refused is not kept.
function refused(problem) {
  state.refusal = signedIn() || problem.status === 403 ? problem.message : '';
  forget('refused');
}

function forget(link) {
  signOut();
  disconnect();
  leave();
  Object.assign(state, { releases: new Map(), log: new Map(), operator: {}, listed: false, link, lostAt: null });
  draw();
}

function lost(how) {
  state.link = how;
  state.lostAt ??= new Date().toLocaleTimeString([], { hour12: false });
  draw();
}

// remember adds what drifted to the time line, which grows beyond the ten entries that a status has.
function remember(release) {
  for (const drift of release.drift ?? []) {
    const id = [release.key, drift.time, drift.object, drift.operation].join(' ');
    const fresh = state.listed && !state.log.has(id);
    state.log.set(id, { ...drift, id, key: release.key, fresh, release: { key: release.key, namespace: release.namespace, name: release.name } });
  }
  if (state.log.size > mostKept) {
    const oldest = [...state.log.values()].sort((a, b) => a.time.localeCompare(b.time)).slice(0, state.log.size - mostKept);
    for (const entry of oldest) state.log.delete(entry.id);
  }
}

let drawing = false;

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    frame();
  });
}

const links = {
  connecting: ['quiet', 'Connecting'], live: ['good', 'Live'], lost: ['bad', 'Connection lost'], full: ['bad', 'Too many viewers'], refused: ['quiet', 'Not signed in'],
};

function frame() {
  const { operator, link } = state;
  const [tone, word] = links[link];
  const pill = get('link');
  if (pill.textContent !== word) pill.textContent = word;
  pill.className = `pill ${tone}`;
  document.body.classList.toggle('stale', link !== 'live' && state.listed);
  get('where').textContent = operator.namespace ? `${operator.controller} in ${operator.namespace}` : '';
  get('version').textContent = operator.version ? `helm-locker ${operator.version}` : '';
  place(get('banners'), banners(), (b) => b.text, (b) => h('p', { class: `banner ${b.tone}` }, b.text));
  get('signout').hidden = !signedIn();
  get('signin').hidden = link !== 'refused';
  get('refusal').textContent = state.refusal;
  if (link === 'refused') {
    get('overview').hidden = get('detail').hidden = true;
    document.title = 'Sign in · helm-locker';
    return;
  }
  const key = current();
  get('overview').hidden = key !== '';
  get('detail').hidden = key === '';
  document.title = key ? `${key} · helm-locker` : 'helm-locker';
  if (key) {
    detail(state, key);
  } else {
    overview(state);
  }
}

function banners() {
  const { operator, link, releases, listed, lostAt } = state;
  const found = [];
  if (link === 'lost') found.push({ tone: 'bad', text: `Connection to the operator lost at ${lostAt}. What is shown may be out of date; trying again.` });
  if (link === 'full') found.push({ tone: 'bad', text: 'The operator has as many viewers as it takes. Trying again; closing other tabs with this page helps.' });
  if (link !== 'live' || !listed) return found;
  if (!operator.ready) found.push({ tone: 'warn', text: 'The operator is starting: it still reads the release records.' });
  if (!operator.leads) {
    found.push({
      tone: 'info', text: operator.leader
        ? `This replica is not the leader. It stands by, writes nothing, and shows what the leader (${operator.leader}) reports.`
        : 'This replica is not the leader, and it knows of none: nothing is reverted until one leads.',
    });
  }
  const all = [...releases.values()];
  if (all.length > 0 && !all.some((r) => r.lock === 'yes')) found.push({ tone: 'warn', text: 'No release is locked right now.' });
  return found;
}

// current is the key of the HelmRelease that the address names, empty for the overview.
function current() {
  const parts = location.hash.split('/').slice(1).filter(Boolean);
  try {
    return parts.length === 2 ? parts.map(decodeURIComponent).join('/') : '';
  } catch {
    return '';
  }
}

let before = current();

addEventListener('hashchange', () => {
  if (location.hash === '#main') return;
  const now = current(), came = before;
  before = now;
  if (!now) leave();
  frame();
  if (now) get('detail').querySelector('h1')?.focus();
  else if (came) [...document.querySelectorAll('#rows tr')].find((row) => row.placed.key === came)?.querySelector('a').focus();
});

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const filter = get('filter');
  if (event.key === '/' && document.activeElement !== filter && !current()) {
    event.preventDefault();
    filter.focus();
  } else if (event.key === 'Escape') {
    if (current()) location.hash = '#/';
    else if (filter.value) { filter.value = ''; draw(); } else filter.blur();
  }
});

get('filter').addEventListener('input', draw);
get('attention').addEventListener('change', draw);
get('signin').addEventListener('submit', (event) => {
  event.preventDefault();
  const field = get('token'), token = field.value;
  field.value = '';
  if (!signIn(token)) {
    state.refusal = 'This is no token: it has spaces or other characters in it that no token has.';
    draw();
    return;
  }
  state.refusal = '';
  state.link = 'connecting';
  draw();
  connect();
});
get('signout').addEventListener('click', () => { state.refusal = ''; forget('refused'); });
addEventListener('pagehide', disconnect);
addEventListener('pageshow', (event) => { if (event.persisted) connect(); });
connect();
draw();
