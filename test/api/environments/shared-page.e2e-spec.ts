import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';

let api: TestApi;
let owner: TestPrincipal;
beforeAll(async () => {
  api = await startTestApi();
  owner = await api.identities.user();
});
afterAll(() => api.close());

interface Element {
  hidden: boolean;
  value: string;
  textContent: string;
  submit?: (event: { preventDefault(): void }) => void;
}

/** What of a browser the script asks for. */
async function open(address: string) {
  const { text } = await api.atOrigin(200, 'GET /environments/assets/shared.js');
  const elements = new Map<string, Element & { addEventListener: unknown }>();
  const element = (id: string) => {
    const known = elements.get(id) ?? {
      ...{ hidden: id === 'ask', value: '', textContent: '' },
      addEventListener(_name: string, listener: Element['submit']) {
        Object.assign(this, { submit: listener });
      },
    };
    elements.set(id, known);
    return known;
  };
  let tell = (): void => undefined;
  const answered = new Promise<void>((resolve) => (tell = resolve));
  const stored = new Map<string, string>();
  const location = new URL(address);
  const shownAddress: string[] = [];
  runInNewContext(text, {
    URL,
    JSON,
    location: { href: location.href, hash: location.hash, pathname: location.pathname, search: location.search },
    document: { getElementById: element },
    history: { replaceState: (_state: null, _title: string, path: string) => shownAddress.push(path) },
    sessionStorage: {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
      removeItem: (key: string) => stored.delete(key),
    },
    fetch: async (url: URL, init: RequestInit) => {
      const response = await fetch(url, init);
      const body: unknown = await response.json();
      return {
        ok: response.ok,
        status: response.status,
        json: () => {
          setImmediate(tell);
          return Promise.resolve(body);
        },
      };
    },
  });
  return {
    ask: element('ask'),
    message: element('message'),
    stored,
    shownAddress,
    async submit(token: string): Promise<string> {
      element('token').value = token;
      element('ask').submit?.({ preventDefault: () => undefined });
      await answered;
      return element('message').textContent;
    },
  };
}

async function newLink(): Promise<{ uid: string; url: string }> {
  const { body } = await api.request(201, 'POST /environments', {
    token: owner.token,
    body: { config: { name: 'node' } },
  });
  const made = await api.request(201, `POST /environments/${body.uid}/links`, { token: owner.token, body: {} });
  return { uid: body.uid, url: made.body.url };
}

describe('the page behind links', () => {
  it('loads scripts, styles and data from this service only, and nothing inline', async () => {
    const { headers, text } = await api.atOrigin(200, 'GET /environments/shared');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on[a-z]+=/);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    const { headers: styles } = await api.atOrigin(200, 'GET /environments/assets/shared.css');
    expect(styles.get('content-type')).toBe('text/css; charset=utf-8');
    for (const name of ['shared.html', 'other.js', '..%2F..%2Fpackage.json'])
      await api.atOrigin(404, `GET /environments/assets/${name}`);
  });

  it('redeems the link with the token of the user, and removes it from the URL', async () => {
    const { uid, url } = await newLink();
    const page = await open(url);
    expect(page.ask.hidden).toBe(false);
    expect(page.shownAddress).toEqual(['/environments/shared']);
    const guest = await api.identities.user();
    expect(await page.submit(` ${guest.token}`)).toBe(
      `Your runs can now use the environment node: environment_id ${uid}`,
    );
    await api.request(200, `GET /environments/${uid}`, { token: guest.token });
  });

  it('shows why a link cannot be redeemed', async () => {
    const { url } = await newLink();
    const page = await open(`${url.slice(0, -4)}0000`);
    const guest = await api.identities.user();
    expect(await page.submit(guest.token)).toContain('expired or revoked');
    const again = await open(url);
    expect(await again.submit(`hr_${'0'.repeat(43)}`)).not.toBe('');
    expect([...again.stored]).toEqual([]);
    const incomplete = await open(url.slice(0, url.indexOf('#')));
    expect(incomplete.ask.hidden).toBe(true);
    expect(incomplete.message.textContent).toContain('incomplete');
  });
});
