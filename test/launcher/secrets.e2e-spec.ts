import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentDirectory } from '#domain/agents';
import { type Settings, withSettings } from '#platform/config';
import { newUid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { ManagedSecrets, SecretBox } from '#platform/secrets';
import { startTestApi, type TestApi, type TestPrincipal, TestRunner, WebhookBuilder } from '#testing';
import { checkout, environment, removeDir, temporaryDir } from './launched.js';

const OLD_KEY = 'the-old-key-of-this-installation-0123456789';
const NEW_KEY = 'the-new-key-of-this-installation-0123456789';
const LOST_KEY = 'a-key-that-nobody-has-any-more-0123456789';
/** Part of every secret value; a command must never print it. */
const PLAINTEXT = 'sw0rdf1sh';

let directory = '';
let api: TestApi;
let team: string;
let admin: TestPrincipal;

beforeAll(async () => {
  directory = temporaryDir();
  api = await startTestApi({ settings: { secretsKey: OLD_KEY } });
  team = await api.identities.team();
  admin = await api.identities.user({ [team]: 'admin' });
});
afterAll(async () => {
  await api.close();
  removeDir(directory);
});

/** Runs `headrace <arguments>` with the test database and these keys. */
async function headrace(
  keys: { SECRETS_KEY?: string; SECRETS_KEY_PREVIOUS?: string },
  args: readonly string[],
  input: string | Buffer = '',
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [join(checkout, 'bin/headrace.mjs'), ...args], {
    cwd: directory,
    env: environment(join(directory, 'data'), { DATABASE_URL: api.database.url, ...keys }),
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  // A command that stops before it reads leaves a broken pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, out, err };
}

const boxOf = (secretsKey: string): SecretBox => new SecretBox(withSettings(api.settings, { secretsKey }));
const keyIdOf = (secretsKey: string): string => boxOf(secretsKey).seal('', '').split('.').slice(0, 2).join('.');

/** The tables that contain a value encrypted with this key. */
async function tablesWith(secretsKey: string): Promise<string[]> {
  const tables = await api.database.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'headrace' AND table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await api.database.query(`SELECT 1 FROM headrace.${name} t WHERE strpos(t::text, $1) > 0 LIMIT 1`, [
      keyIdOf(secretsKey),
    ]);
    if (rows.length > 0) found.push(name);
  }
  return found.sort();
}

interface Seeded {
  readonly notification: string;
  readonly server: string;
  readonly identity: string;
  readonly run: string;
  readonly webhook: string;
  readonly automation: string;
  readonly schedule: string;
}

const mcpServer = (what: string) => ({
  url: 'https://mcp.example.com/x',
  headers: { Authorization: `${PLAINTEXT} ${what}`, 'X-Odd/~Name': `${PLAINTEXT} ${what} 2` },
});

/** Creates an encrypted value in every table that can contain one. */
async function seed(): Promise<Seeded> {
  const { token } = admin;
  const create = async (path: string, body: object, status = 201) =>
    (await api.request(status, `POST ${path}`, { token, body })).body;
  await api.request(200, 'PUT /secrets/ci', { token, body: { value: `${PLAINTEXT} managed` } });
  const { uid: notification } = await create('/notification-webhooks', { name: 'n', url: 'https://93.184.216.34/n' });
  // After the rotation the webhook has a previous secret too.
  await create(`/notification-webhooks/${notification}/rotate-secret`, {}, 200);
  const { uid: server } = await create('/mcp-servers', { name: 'registered', ...mcpServer('server') });
  const servers = { docs: mcpServer('identity'), 'a/b~c': { command: 'serve', env: { KEY: `${PLAINTEXT} env` } } };
  const { uid: identity } = await create('/agent/identities', { name: 'identity', mcp_servers: servers });
  const config = { mcp_servers: { docs: mcpServer('run') } };
  const { run_id: run } = await create('/agent/runs', { prompt: 'Go.', config }, 200);
  const runner = await TestRunner.take(api, run);
  await runner.startAgent();
  await runner.snapshot(`${PLAINTEXT} snapshot`);
  const factoryUid = newUid();
  await api.database.query(`INSERT INTO factories (uid, team_uid, name) VALUES ($1, $2, 'f')`, [factoryUid, team]);
  const webhooks = new WebhookBuilder(api.database, api.settings);
  const { uid: webhook } = await webhooks.webhook({ factoryUid, secret: `${PLAINTEXT}-webhook` });
  await api.database.query('UPDATE webhooks SET sealed_captured_secret = $2 WHERE uid = $1', [
    webhook,
    boxOf(OLD_KEY).seal(`${PLAINTEXT} captured`, `webhook/${webhook}/captured-secret`),
  ]);
  const { uid: automation } = await create(`/factories/${factoryUid}/automations`, {
    ...{ name: 'a', enabled: true, prompt: 'Go.', agent_config: { mcp_servers: { docs: mcpServer('automation') } } },
    triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [webhook] } }],
  });
  const { id: schedule } = await create('/agent/schedules', {
    ...{ name: 's', cron_schedule: '0 0 1 1 *', enabled: true, prompt: 'Go.' },
    agent_config: { mcp_servers: { docs: mcpServer('schedule') } },
  });
  return { notification, server, identity, run, webhook, automation, schedule };
}

/** The decrypted values of all tables, read by a service with these settings. */
async function readAll(settings: Partial<Settings>, seeded: Seeded): Promise<unknown> {
  const later = await startTestApi({ database: api.database, settings });
  try {
    const [box, agents] = [later.app.get(SecretBox), later.app.get(AgentDirectory, { strict: false })];
    const [row] = await api.database.query<Record<string, string>>(
      `SELECT n.secret, n.previous_secret, w.sealed_secret, w.sealed_captured_secret,
         r.config#>>'{mcp_servers,docs,headers,Authorization}' AS run,
         a.agent_config#>>'{mcp_servers,docs,headers,Authorization}' AS automation,
         s.agent_config#>>'{mcp_servers,docs,headers,Authorization}' AS schedule
       FROM notification_webhooks n, webhooks w, runs r, automations a, schedules s
       WHERE n.uid = $1 AND w.uid = $2 AND r.id = $3 AND a.uid = $4 AND s.uid = $5`,
      [seeded.notification, seeded.webhook, seeded.run, seeded.automation, seeded.schedule],
    );
    const packs = await api.database.query<{ id: string; key: string }>(
      'SELECT id, content_key AS key FROM snapshot_packs ORDER BY id',
    );
    const open = (column: string, context: string): string =>
      box.open((row?.[column] ?? '').replace(/^sealed:/, ''), context);
    return {
      managed: await later.app
        .get(Database)
        .transaction((tx) => later.app.get(ManagedSecrets).readForWebhook(tx, team, 'ci')),
      server: (await agents.findMcpServers(team, [seeded.server])).get(seeded.server)?.headers,
      identity: (await agents.findIdentity(seeded.identity, team))?.mcpServers,
      notification: ['secret', 'previous_secret'].map((column) =>
        open(column, `notification-webhook/${seeded.notification}/secret`),
      ),
      webhook: open('sealed_secret', `webhook/${seeded.webhook}/secret`),
      captured: open('sealed_captured_secret', `webhook/${seeded.webhook}/captured-secret`),
      snapshots: packs.map(({ id, key }) => box.open(key, `snapshot-pack/${id}/content-key`)),
      run: open('run', `run/${seeded.run}/mcp-servers`),
      automation: open('automation', `mcp-server/automation/${seeded.automation}/docs/headers/Authorization`),
      schedule: open('schedule', `mcp-server/schedule/${seeded.schedule}/docs/headers/Authorization`),
    };
  } finally {
    await later.close();
  }
}

describe('headrace secrets rotate-key', { timeout: 120_000 }, () => {
  const TABLES = [
    'agent_identities',
    'automations',
    'managed_secrets',
    'mcp_servers',
    'notification_webhooks',
    'runs',
    'schedules',
    'snapshot_packs',
    'webhooks',
  ];
  const during = { SECRETS_KEY: NEW_KEY, SECRETS_KEY_PREVIOUS: OLD_KEY };
  const countsOf = (out: string) =>
    Object.fromEntries(
      [...out.matchAll(/^(\w+) +(\d+) +(\d+)$/gm)].map(([, place, ...counts]) => [place, counts.map(Number)]),
    );

  it('re-encrypts every value, so that the new key alone decrypts all values', async () => {
    const seeded = await seed();
    expect(await tablesWith(OLD_KEY)).toEqual(TABLES);
    const before = await readAll({ secretsKey: OLD_KEY }, seeded);
    expect(await readAll({ secretsKey: NEW_KEY, secretsKeyPrevious: [OLD_KEY] }, seeded)).toEqual(before);

    const first = await headrace(during, ['secrets', 'rotate-key']);
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(countsOf(first.out)).toEqual({
      managed_secrets: [1, 0],
      webhooks: [2, 0],
      notification_webhooks: [2, 0],
      mcp_servers: [2, 0],
      agent_identities: [3, 0],
      automations: [2, 0],
      schedules: [2, 0],
      runs: [2, 0],
      snapshot_packs: [2, 0],
    });
    expect(await tablesWith(OLD_KEY)).toEqual([]);
    expect(await tablesWith(NEW_KEY)).toEqual(TABLES);
    expect(await readAll({ secretsKey: NEW_KEY }, seeded)).toEqual(before);

    const again = await headrace(during, ['secrets', 'rotate-key']);
    expect(again.code).toBe(0);
    expect(Object.values(countsOf(again.out))).toEqual(TABLES.map(() => [0, 0]));
    expect(first.out + again.out).not.toContain(PLAINTEXT);
  });

  it('keeps values that cannot be decrypted, reports their number and exits with 1', async () => {
    const lost = boxOf(LOST_KEY).seal(`${PLAINTEXT} lost`, `managed-secret/${team}/lost`);
    await api.database.query('INSERT INTO managed_secrets (team_uid, name, sealed) VALUES ($1, $2, $3)', [
      team,
      'lost',
      lost,
    ]);
    const { code, out, err } = await headrace(during, ['secrets', 'rotate-key']);
    expect(code).toBe(1);
    expect(countsOf(out).managed_secrets).toEqual([0, 1]);
    expect(err).toBe('headrace: 1 value(s) cannot be decrypted with SECRETS_KEY or SECRETS_KEY_PREVIOUS.\n');
    const [row] = await api.database.query<{ sealed: string }>(
      `SELECT sealed FROM managed_secrets WHERE name = 'lost' AND team_uid = $1`,
      [team],
    );
    expect(row?.sealed).toBe(lost);
  });

  it('reports a missing SECRETS_KEY and generates no key', async () => {
    const { code, out, err } = await headrace({}, ['secrets', 'rotate-key']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe('headrace: SECRETS_KEY is required: the key with which the installation runs.\n');
  });
});

describe('headrace secrets set, list and delete', { timeout: 120_000 }, () => {
  const keys = { SECRETS_KEY: OLD_KEY };
  const read = (name: string) =>
    api.app.get(Database).transaction((tx) => api.app.get(ManagedSecrets).readForWebhook(tx, team, name));

  it('stores a value from standard input without the final line end, lists it without the value and deletes it', async () => {
    const set = await headrace(keys, ['secrets', 'set', 'from-shell', '--team', team], `${PLAINTEXT} ü\nsecond line\n`);
    expect(set).toEqual({ code: 0, out: 'Secret from-shell is stored as version 1.\n', err: '' });
    expect(await read('from-shell')).toEqual({ version: 1, value: `${PLAINTEXT} ü\nsecond line` });
    const listed = await headrace(keys, ['secrets', 'list', '--team', team]);
    expect(listed.out).toMatch(/^NAME +PURPOSE +VERSION +CREATED +CHANGED\n/);
    expect(listed.out).toMatch(/^from-shell +run +1 +\d{4}-/m);
    expect(listed.out).not.toContain(PLAINTEXT);
    const checked = await headrace(keys, ['secrets', 'set', 'checks', '--team', team, '--purpose', 'webhook'], 'v');
    expect(checked).toMatchObject({ code: 0 });
    expect((await headrace(keys, ['secrets', 'list', '--team', team])).out).toMatch(/^checks +webhook +1 /m);
    const gone = await headrace(keys, ['secrets', 'delete', 'from-shell', '--team', team]);
    expect(gone).toMatchObject({ code: 0, out: 'Secret from-shell is deleted.\n' });
    expect(await read('from-shell')).toBeNull();
  });

  it.each<[string, readonly string[], string | Buffer, number, RegExp]>([
    ['an empty standard input', ['set', 'a'], '\n', 2, /value is missing on standard input/],
    ['invalid UTF-8', ['set', 'a'], Buffer.from([0xff, 0xfe]), 2, /is not valid UTF-8 text/],
    ['a NUL', ['set', 'a'], `${PLAINTEXT}\0`, 1, /the value must not contain NUL characters/],
    [
      'a value that is too large',
      ['set', 'a'],
      PLAINTEXT.repeat(10_000),
      1,
      /the value must (have at most|not exceed) 65536 bytes/,
    ],
    ['an unknown secret', ['delete', 'a'], '', 1, /secret a not found in the team;/],
  ])('rejects %s', async (_what, [verb = '', name = ''], input, status, message) => {
    const { code, out, err } = await headrace(keys, ['secrets', verb, name, '--team', team], input);
    expect([code, out]).toEqual([status, '']);
    expect(err).toMatch(message);
    expect(err).not.toContain(PLAINTEXT);
  });

  it('rejects an unknown team', async () => {
    const { code, err } = await headrace(keys, ['secrets', 'list', '--team', 'x'.repeat(22)]);
    expect([code, err]).toEqual([1, expect.stringMatching(/^headrace: team x{22} not found;/)]);
  });

  it('updates the webhooks that use a secret and rejects the deletion of this secret', async () => {
    const built = await new WebhookBuilder(api.database, api.settings).webhook({ secret: 'first' });
    const [row] = await api.database.query<{ secret_name: string; team_uid: string }>(
      'SELECT secret_name, team_uid FROM webhooks WHERE uid = $1',
      [built.uid],
    );
    const [name, owner] = [row?.secret_name ?? '', row?.team_uid ?? ''];
    const set = await headrace(keys, ['secrets', 'set', name, '--team', owner], 'second');
    expect(set).toMatchObject({ code: 0, err: '' });
    const [copy] = await api.database.query<{ sealed_secret: string }>(
      'SELECT sealed_secret FROM webhooks WHERE uid = $1',
      [built.uid],
    );
    expect(boxOf(OLD_KEY).open(copy?.sealed_secret ?? '', `webhook/${built.uid}/secret`)).toBe('second');
    const kept = await headrace(keys, ['secrets', 'delete', name, '--team', owner]);
    expect([kept.code, kept.err]).toEqual([1, expect.stringContaining(`(uid ${built.uid})`)]);
  });
});
