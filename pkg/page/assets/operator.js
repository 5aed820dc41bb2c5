// Requests to the server of the page, with the viewer's token if there is one. The browser keeps it for this tab and this origin only, and
// sends it nowhere by itself, as it would a cookie: no other site can make a request that counts as the viewer's.
const kept = 'helm-locker-token';

export const signedIn = () => sessionStorage.getItem(kept) !== null;

// signIn keeps a token; false says that it cannot be one.
export function signIn(token) {
  const text = token.trim();
  if (!/^[\x21-\x7e]+$/.test(text)) return false;
  sessionStorage.setItem(kept, text);
  return true;
}

export function signOut() {
  sessionStorage.removeItem(kept);
}

function ask(path, signal) {
  const headers = signedIn() ? { Authorization: `Bearer ${sessionStorage.getItem(kept)}` } : {};
  return fetch(path, { signal, headers, cache: 'no-store', credentials: 'omit' });
}

// load returns the answer about the HelmRelease of a key. Errors have a message for people.
export async function load(path, key, signal) {
  const [namespace, name] = key.split('/');
  let answer, body;
  try {
    answer = await ask(`${path}?${new URLSearchParams({ namespace, name })}`, signal);
    body = await answer.json();
  } catch (error) {
    throw new Error(`The page did not answer (${error.message}).`);
  }
  if (!answer.ok) throw new Error(body.error);
  return body;
}

// Refused is an answer that is no stream: 401 without a valid token, 403 without the right, 503 when there are too many viewers.
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// listen reads the stream of server-sent events until it ends, and tells each one. EventSource would send no token.
export async function listen(signal, opened, tell) {
  const answer = await ask('events', signal);
  if (!answer.ok) throw new Refused(answer.status, (await answer.text()).trim());
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const [event, data] = block.split('\ndata: ');
      tell(event.replace('event: ', ''), JSON.parse(data));
    }
  }
}
