import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { newUid } from '#platform/kernel';
import { startTestIngress, type TestIngress } from '#testing';
import { headrace } from '../support/command-line.js';

let ingress: TestIngress;
let directory: string;
let factory: string;

beforeAll(async () => {
  ingress = await startTestIngress();
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-cli-'));
  ({ factoryUid: factory } = await ingress.webhooks.factory());
  vi.stubEnv('DATABASE_URL', ingress.database.url);
  vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'data'));
  vi.stubEnv('SECRETS_KEY', ingress.settings.secretsKey ?? '');
  vi.stubEnv('INGRESS_PUBLIC_URL', 'https://in.example.com');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await ingress.close();
  rmSync(directory, { recursive: true, force: true });
});

const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};
/** Creates a webhook with the command, and returns the printed address and secret. */
async function create(...options: string[]) {
  const { output: text } = await headrace(0, 'webhook', 'create', 'hook', '--factory', factory, ...options);
  const [url = '', secret = ''] = text.split('\n');
  const [, uid = ''] = /\/webhooks\/w\/([A-Za-z0-9]{22})/.exec(url) ?? [];
  return { url, secret, uid };
}
const send = (code: number, uid: string, path: string, ...options: string[]) =>
  headrace(code, 'webhook', 'send', path, '--webhook', uid, '--url', ingress.url, ...options);

describe('headrace webhook', () => {
  it('uses the only factory, and lists the factories when there are several', async () => {
    const { output: list } = await headrace(0, 'webhook', 'list');
    expect(list).toContain('UID');
    const { factoryUid: second } = await ingress.webhooks.factory();
    const { errors: several } = await headrace(1, 'webhook', 'list');
    expect(several).toContain(factory);
    expect(several).toContain(second);
    expect((await headrace(1, 'webhook', 'list', '--factory', newUid())).errors).toMatch(/factory \S+ not found/);
  });

  it('creates a webhook that accepts deliveries, lists it and prints its delivery log', async () => {
    const { url, secret, uid } = await create();
    expect(url).toBe(`https://in.example.com/webhooks/w/${uid}`);
    expect(secret).toMatch(/^[A-Za-z0-9]{43}$/);
    expect((await headrace(0, 'webhook', 'list', '--factory', factory)).output).toMatch(new RegExp(`${uid}.*enabled`));
    const [entry] = await ingress.database.query<{ entry: string }>(
      `SELECT entry FROM headrace.audit_log_entries WHERE action = 'webhook.created' AND target_uid = $1`,
      [uid],
    );
    expect(JSON.parse(entry?.entry ?? '{}')).toMatchObject({ actor: { type: 'command_line' } });
    const path = file('event.json', '{"event":"ünïcode","n":1.0}');
    const first = await send(0, uid, path, '--delivery-id', 'event-1');
    const [, id = ''] = /^202 ([0-9a-f-]{36})\n$/.exec(first.output) ?? [];
    expect((await send(0, uid, path, '--delivery-id', 'event-1')).output).toBe(`202 ${id}\n`);
    const { output: log } = await headrace(0, 'webhook', 'deliveries', uid);
    const lines = log.split('\n').filter((line) => line.includes('event-1'));
    expect(lines.map((line) => /Accepted|Duplicate/.exec(line)?.[0])).toEqual(['Duplicate', 'Accepted']);
    const { output: accepted } = await headrace(
      0,
      'webhook',
      'deliveries',
      uid,
      '--outcome',
      'accepted',
      '--limit',
      '1',
    );
    expect(accepted).toContain(id);
    expect(accepted).not.toContain('Duplicate');
    const [stored] = await ingress.database.query<{ body: Buffer }>(
      'SELECT body FROM headrace.webhook_deliveries WHERE id = $1',
      [id],
    );
    expect(stored?.body.toString()).toBe('{"event":"ünïcode","n":1.0}');
  });

  it.each([
    [['--auth-mode', 'url_token']],
    [['--auth-mode', 'url_token', '--delivery-id-header', 'X-Own-Id']],
    [['--auth-mode', 'signature', '--scheme', 'standard_webhooks']],
    [['--auth-mode', 'signature', '--scheme', 'github', '--secret-file', 'SECRET']],
    [['--auth-mode', 'signature', '--scheme', 'stripe', '--secret-file', 'SECRET']],
    [['--auth-mode', 'signature', '--scheme', 'slack', '--secret-file', 'SECRET']],
  ])('sends deliveries that a webhook with these options accepts: %j', async (options) => {
    const secretFile = file('secret', 'whsec_swordfish\n');
    const { uid } = await create(...options.map((option) => (option === 'SECRET' ? secretFile : option)));
    const path = file('event.json', '{"id":"evt_1"}');
    // Each delivery gets a new identity, in the header of the scheme or of the service, so both are accepted.
    for (let time = 0; time < 2; time += 1) expect((await send(0, uid, path)).output).toMatch(/^202 [0-9a-f-]{36}\n$/);
  });

  it.each([
    ['github', 'issues', 'x-github-event'],
    ['gitlab_token', 'Issue Hook', 'x-gitlab-event'],
  ])('sends the kind of the event in the header of %s', async (scheme, event, header) => {
    const { uid } = await create(
      '--auth-mode',
      'signature',
      '--scheme',
      scheme,
      '--secret-file',
      file('key', 'swordfish'),
    );
    const path = file('event.json', '{"object_kind":"issue"}');
    const { output } = await send(0, uid, path, '--event', event);
    const id = /^202 (\S+)\n$/.exec(output)?.[1];
    const [stored] = await ingress.database.query<{ headers: Record<string, string> }>(
      'SELECT headers FROM headrace.webhook_deliveries WHERE id = $1',
      [id],
    );
    expect(stored?.headers).toMatchObject({ [header]: event });
  });

  it('rejects the kind of an event for a webhook whose sender names none', async () => {
    const { uid } = await create();
    const { errors } = await send(2, uid, file('event.json', '{}'), '--event', 'issues');
    expect(errors).toContain('--event is for webhooks with a signature scheme of GitHub or GitLab');
  });

  it('rotates a secret, and stores the first secret of a webhook without one', async () => {
    const { uid, secret } = await create();
    const { output: rotated } = await headrace(0, 'webhook', 'rotate', uid);
    expect(rotated).toMatch(new RegExp(`/${uid}\\n[A-Za-z0-9]{43}\\n$`));
    expect(rotated).not.toContain(secret);
    const withoutSecret = await create('--auth-mode', 'signature', '--scheme', 'github');
    expect(withoutSecret.secret).toBe('');
    const path = file('event.json', '{}');
    expect((await send(1, withoutSecret.uid, path)).errors).toContain('no secret yet');
    await headrace(0, 'webhook', 'rotate', withoutSecret.uid, '--secret-file', file('secret', 'swordfish'));
    expect((await send(0, withoutSecret.uid, path)).output).toMatch(/^202 /);
  });

  it('reports why a delivery was not accepted and exits with 1', async () => {
    const { uid } = await create('--disabled');
    expect((await send(1, uid, file('event.json', '{}'))).output).toMatch(/^404 Not found/);
    const other = await create();
    expect((await send(1, other.uid, file('no.json', '{'))).output).toMatch(/^400 /);
    expect((await send(1, newUid(), file('event.json', '{}'))).errors).toMatch(/webhook \S+ not found/);
    const unreachable = await headrace(
      1,
      'webhook',
      'send',
      file('event.json', '{}'),
      '--webhook',
      other.uid,
      '--url',
      'http://127.0.0.1:9',
    );
    expect(unreachable.errors).toContain('the ingress at http://127.0.0.1:9 does not answer');
    expect(unreachable.errors).not.toContain(other.uid);
  });

  it('rejects to sign a delivery when only the sender has the key', async () => {
    const key = 'ab'.repeat(32);
    const { uid } = await create('--auth-mode', 'signature', '--scheme', 'discord', '--secret-file', file('key', key));
    expect((await send(1, uid, file('event.json', '{"type":1}'))).errors).toContain('only the sender has the key');
  });

  it.each([
    [['create', 'x', '--auth-mode', 'basic'], 2, '--auth-mode must be one of'],
    [['create'], 2, '<name> is missing'],
    [['create', 'x', '--secret', 'swordfish'], 2, 'unknown option'],
    [['create', 'x', '--factory', 'F', '--scheme', 'github'], 1, '--scheme is allowed in'],
    [['create', 'x', '--factory', 'F', '--auth-mode', 'signature', '--scheme', 'githib'], 1, 'did you mean github'],
    [['create', 'x', '--factory', 'F', '--secret-name', 'nowhere'], 1, '--secret-name must name'],
    [['create', 'x', '--secret-file', '/nowhere/at/all'], 1, 'cannot be read (ENOENT)'],
    [['rotate', '0'.repeat(22)], 1, 'not found; `headrace webhook list`'],
    [['deliveries', '0'.repeat(22)], 1, 'not found; `headrace webhook list`'],
    [['deliveries', 'x', '--outcome', 'Lost'], 2, '--outcome must be one of'],
    [['deliveries', 'x', '--limit', '501'], 2, '--limit must be'],
    [['send', '/nowhere/at/all', '--webhook', 'x'], 1, 'cannot be read (ENOENT)'],
    [['send', 'x'], 2, '--webhook is missing'],
    [['send', 'x', '--webhook', 'x', '--url', 'ftp://x'], 2, '--url must be an origin'],
    [['send', 'x', '--webhook', 'x', '--delivery-id', 'two words'], 2, '--delivery-id must be'],
    [['send', 'x', '--webhook', 'x', '--event', 'a\nb'], 2, '--event must be'],
  ])('rejects the arguments %j with exit code %i: %s', async (args, code, expectedError) => {
    const { errors: reported } = await headrace(code, 'webhook', ...args.map((arg) => (arg === 'F' ? factory : arg)));
    expect(reported).toContain(expectedError);
    expect(reported).not.toContain('swordfish');
  });
});
