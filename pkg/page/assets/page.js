// Keeps the events of the stream, and draws them. The stream says all there is to know when it begins, and then what changes.
import { address, lastList, listWith } from './address.js';
import { compare, get, h, place, serverSays } from './dom.js';
import { listen, signIn, signOut, signedIn } from './operator.js';
import { chart } from './chart.js';
import { list } from './list.js';
import { detail, leave } from './detail.js';
import { idOf } from './words.js';

const quietLimit = 30_000; // the server sends an event every 10 s
const lostPause = 2_000, fullPause = 10_000;
const mostKept = 500; // entries of the time line

// What was heard: rows as they came, and releases, which are rows with what the page makes of them.
const nothing = () => ({ rows: new Map(), releases: new Map(), log: new Map(), chart: null, operator: {}, stopped: new Set(), listed: false, lostAt: null });
const state = { ...nothing(), link: 'connecting', refusal: '' };
let stream, watchdog, retry, seen, received = 0;

const heard = {
  operator: (operator) => {
    if (state.operator.version && state.operator.version !== operator.version) location.reload(); // so is the page
    state.operator = operator;
    state.stopped = new Set((operator.stopped ?? []).map((s) => s.lease));
    for (const row of state.rows.values()) state.releases.set(row.key, releaseOf(row));
    serverSays(operator.now);
  },
  beat: serverSays,
  release: (row) => {
    seen.add(row.key);
    row.received = ++received;
    row.text = `${row.namespace}/${row.name} ${row.key} ${row.reason ?? ''} ${row.message}`.toLowerCase();
    state.rows.set(row.key, row);
    state.releases.set(row.key, releaseOf(row));
  },
  gone: drop,
  drift: remember,
  chart: (drawn) => { state.chart = drawn; },
  listed: () => {
    for (const key of state.rows.keys()) if (!seen.has(key)) drop(key);
    state.listed = true;
  },
};

// releaseOf says of a release that only its status says is protected that no operator does it.
function releaseOf(row) {
  if (!state.stopped.has(row.lease) || !['yes', 'detect'].includes(row.lock)) return row;
  return { ...row, lock: 'stopped', attention: true };
}

function drop(key) {
  state.rows.delete(key);
  state.releases.delete(key);
}

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
      heard[event]?.(data);
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
  Object.assign(state, nothing(), { link });
  draw();
}

function lost(how) {
  state.link = how;
  state.lostAt ??= new Date().toLocaleTimeString([], { hour12: false });
  draw();
}

// remember adds what drifted to the time line, which grows beyond the entries that a status has.
function remember(entries) {
  for (const drift of entries) {
    const id = idOf(drift);
    state.log.set(id, { ...drift, id, fresh: state.log.get(id)?.fresh ?? state.listed });
  }
  if (state.log.size > mostKept) {
    const oldest = [...state.log.values()].sort((a, b) => compare(a.time, b.time)).slice(0, state.log.size - mostKept);
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
  const { key } = address();
  get('overview').hidden = key !== '';
  get('detail').hidden = key === '';
  document.title = key ? `${key} · helm-locker` : 'helm-locker';
  if (key) {
    detail(state, key, draw);
  } else {
    list(state);
    chart(state.chart);
  }
}

function banners() {
  const { operator, link, releases, listed, lostAt } = state;
  const found = [];
  if (link === 'lost') found.push({ tone: 'bad', text: `Connection to the page lost at ${lostAt}. What is shown may be out of date; trying again.` });
  if (link === 'full') found.push({ tone: 'bad', text: 'The page has as many viewers as it takes. Trying again; closing other tabs with this page helps.' });
  if (link !== 'live' || !listed) return found;
  if (!operator.ready) found.push({ tone: 'warn', text: 'The page is starting: it still reads the HelmReleases.' });
  const all = [...releases.values()];
  for (const { lease, text } of operator.stopped ?? []) {
    const n = all.filter((r) => r.lease === lease).length;
    found.push({ tone: 'bad', text: `${text[0].toUpperCase()}${text.slice(1)}. ${n === 1 ? 'Its release is' : `Its ${n} releases are`} not protected now, and what is shown is from then.` });
  }
  if (all.length > 0 && !all.some((r) => r.lock === 'yes')) found.push({ tone: 'warn', text: 'No release is locked right now.' });
  return found;
}

let before = address().key;

addEventListener('hashchange', () => {
  const now = address().key, came = before;
  before = now;
  if (!now) leave();
  frame();
  if (now && now !== came) get('detail').querySelector('h1')?.focus();
  else if (came && !now) [...get('rows').children].find((row) => row.placed.key === came)?.querySelector('a').focus();
});

// filter changes what the list shows, and the address with it.
function filter(changes) {
  history.replaceState(null, '', listWith(changes));
  draw();
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const search = get('search'), at = document.activeElement, inDetail = address().key !== '';
  if (event.key === '/' && !at.matches('input') && !inDetail) {
    event.preventDefault();
    search.focus();
  } else if (event.key === 'Escape') {
    if (inDetail) location.hash = lastList();
    else if (search.value) filter({ q: '' });
    else at.blur();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && !inDetail && (at === search || at.matches('#rows a'))) {
    const stops = [search, ...document.querySelectorAll('#rows th a')];
    const here = at === search ? 0 : stops.indexOf(at.closest('tr').querySelector('th a'));
    event.preventDefault();
    stops[here + (event.key === 'ArrowDown' ? 1 : -1)]?.focus();
  }
});

get('search').addEventListener('input', (event) => filter({ q: event.target.value }));
for (const id of ['ns', 'policy']) get(id).addEventListener('change', (event) => filter({ [id]: event.target.value }));
get('clear').addEventListener('click', () => { filter({ q: '', state: '', ns: '', policy: '' }); get('search').focus(); });
get('overview').addEventListener('click', (event) => {
  const button = event.target.closest('button'), row = event.target.closest('#rows tr');
  if (button?.dataset.state) filter({ state: button.getAttribute('aria-pressed') === 'true' ? '' : button.dataset.state });
  else if (button?.dataset.sort !== undefined) filter({ sort: button.dataset.sort });
  else if (button?.closest('#pages')) filter({ page: button.value });
  else if (row && !event.target.closest('a')) row.querySelector('a').click();
});
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault(); // the address says what is shown
  get('main').focus();
});
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
