// What the address says: which release is shown, or how the list is filtered, sorted and paged. An address can be sent to others.
const usual = { q: '', state: '', ns: '', policy: '', sort: '', page: '1', tab: '' };

export function address() {
  const [path, query] = location.hash.slice(1).split('?');
  const asked = new URLSearchParams(query);
  const found = { key: keyOf(path) };
  for (const [name, value] of Object.entries(usual)) found[name] = asked.get(name) ?? value;
  return found;
}

// keyOf is the HelmRelease that a path names, empty for the list.
function keyOf(path) {
  const parts = path.split('/').filter(Boolean);
  try {
    return parts.length === 2 ? parts.map(decodeURIComponent).join('/') : '';
  } catch {
    return '';
  }
}

// listWith is the address of the list with some of its parts changed; a changed filter begins at the first page.
export function listWith(changes) {
  const next = { ...address(), page: '1', ...changes };
  const query = new URLSearchParams(Object.keys(usual).filter((name) => next[name] !== usual[name]).map((name) => [name, next[name]]));
  return query.size > 0 ? `#/?${query}` : '#/';
}

let shown = '#/';

// keepList remembers the address of the list that is shown, lastList is where to go back to.
export function keepList() {
  shown = location.hash || '#/';
}

export const lastList = () => shown;

export const link = (key) => `#/${key.split('/').map(encodeURIComponent).join('/')}`;
