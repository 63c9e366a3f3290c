import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { newUid } from '#platform/kernel';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { headrace } from '../support/command-line.js';

let api: TestApi;
let directory: string;
let team: string;
let admin: TestPrincipal;
const servers: Server[] = [];

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team('Files');
  admin = await api.identities.user({ [team]: 'admin' });
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-cli-'));
  vi.stubEnv('DATABASE_URL', api.database.url);
  vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'data'));
  vi.stubEnv('SECRETS_KEY', api.settings.secretsKey ?? '');
  vi.stubEnv('HEADRACE_TOKEN', admin.token);
  const body = { value: 'swordfish' };
  await api.request(200, 'PUT /secrets/hook-secret', { token: admin.token, body });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  for (const server of servers) server.close();
  await api.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Runs a command with the address of the API under test. */
const remote = (code: number, ...args: string[]) => headrace(code, ...args, '--url', api.url);

let pathCount = 0;
const newPath = (): string => join(directory, `definition-${(pathCount += 1)}`);
/** Creates a directory with these files. */
function directoryOf(files: Readonly<Record<string, string>>): string {
  const root = newPath();
  mkdirSync(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}
const filesIn = (root: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(root.length + 1), readFileSync(path, 'utf8')]),
  );
/** Returns a port on which no process listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
/** Starts an HTTP server that is not the API, and returns its address. */
async function startOtherServer(): Promise<string> {
  const server = createServer((_request, response) => response.end('<html>')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
async function newFactory(...options: string[]): Promise<string> {
  return (await remote(0, 'factory', 'create', 'Factory', '--team', team, ...options)).output.trim();
}

const FACTORY = 'schemaVersion: v1alpha1\nname: From files\n';
const WEBHOOK = 'secretName: hook-secret\n';
const FILES = { 'factory.yaml': FACTORY, 'webhooks/one.yaml': WEBHOOK };

describe('headrace factory', () => {
  it('creates and lists factories, and rejects a duplicate alias, an unknown team and an invalid name', async () => {
    const alias = `alias-${(pathCount += 1)}`;
    const uid = await newFactory('--alias', alias, '--description', 'Does things.');
    expect(uid).toMatch(/^[A-Za-z0-9]{22}$/);
    expect((await remote(0, 'factory', 'list')).output).toMatch(new RegExp(`${uid} +Factory +${alias} +${team}`));
    const again = await remote(1, 'factory', 'create', 'Other', '--team', team, '--alias', alias);
    expect(again.errors).toContain('alias of another factory');
    expect((await remote(1, 'factory', 'create', 'Other', '--team', newUid())).errors).toContain(
      'not a member of the team',
    );
    const long = await remote(2, 'factory', 'create', 'x'.repeat(201), '--team', team);
    expect(long.errors).toContain('must not exceed 200 characters');
    expect((await remote(2, 'factory', 'update', alias)).errors).toContain('nothing to update');
    await remote(0, 'factory', 'update', alias, '--name', 'Renamed', '--alias', `${alias}-2`);
    const renamed = JSON.parse((await remote(0, 'factory', 'update', uid, '--description', '', '--json')).output);
    expect(renamed).toMatchObject({ uid, name: 'Renamed', alias: `${alias}-2`, description: '' });
    expect((await remote(0, 'factory', 'delete', `${alias}-2`)).output).toBe(`Factory ${uid} is deleted.\n`);
    expect((await remote(1, 'factory', 'delete', uid)).errors).toContain('not found or not accessible');
  });
});

describe('headrace apply', () => {
  it('prints the plan of a dry run, applies it, and reports no changes afterwards', async () => {
    const factory = await newFactory();
    const root = directoryOf({ ...FILES, '.hidden/x': 'no', 'webhooks/.one.yaml.swp': 'no' });
    const dry = await remote(0, 'apply', root, '--factory', factory, '--dry-run');
    expect(dry.output).toMatch(/^~ +factory +From files .*\(name\)$/m);
    expect(dry.output).toMatch(/^\+ +webhook +one$/m);
    expect(dry.output).toContain('Dry run: 1 created, 1 updated, 0 deleted, 0 unchanged.');
    const first = await remote(0, 'apply', root, '--factory', factory);
    const [, uid = ''] = /^\+ +webhook +one +([A-Za-z0-9]{22})$/m.exec(first.output) ?? [];
    expect(uid).not.toBe('');
    expect(first.output).toContain('1 created, 1 updated, 0 deleted, 0 unchanged.');
    expect(first.errors).toContain(`Factory Factory (${factory}), 2 files, `);
    expect(first.errors).toMatch(new RegExp(`Webhook one: http://.*/webhooks/w/${uid}\\n`));
    const second = await remote(0, 'apply', root, '--factory', factory);
    expect(second.output).toContain('No changes.');
    expect(second.output).toMatch(new RegExp(`^= +webhook +one +${uid}$`, 'm'));
    rmSync(join(root, 'webhooks/one.yaml'));
    const third = await remote(0, 'apply', root, '--factory', factory);
    expect(third.output).toMatch(new RegExp(`^- +webhook +one +${uid}$`, 'm'));
  });

  it('replaces control characters in printed names', async () => {
    const factory = await newFactory();
    const root = directoryOf({ 'factory.yaml': 'schemaVersion: v1alpha1\nname: "One\\e[2J\\nTwo"\n' });
    for (const args of [['--dry-run'], []]) {
      const plan = await remote(0, 'apply', root, '--factory', factory, ...args);
      expect(plan.output).toMatch(/^~ +factory +One\uFFFD\[2J\uFFFDTwo /m);
    }
    const shown = [
      (await remote(0, 'export', newPath(), '--factory', factory)).errors,
      (await remote(0, 'factory', 'list')).output,
    ];
    for (const text of shown) expect(text).toContain('One\uFFFD[2J\uFFFDTwo');
  });

  it('reports a new secret version and changes since the last apply in the plan', async () => {
    const factory = await newFactory();
    const root = directoryOf(FILES);
    const [, uid = ''] =
      /webhook +one +(\w+)/.exec((await remote(0, 'apply', root, '--factory', factory)).output) ?? [];
    const { token } = admin;
    await api.request(200, 'PUT /secrets/hook-secret', { token, body: { value: 'another' } });
    await api.request(200, `PATCH /factories/${factory}/webhooks/${uid}`, { token, body: { enabled: false } });
    const { output: plan } = await remote(0, 'apply', root, '--factory', factory);
    expect(plan).toMatch(/^~ +webhook +one +\w+ +\(enabled, secretVersion\) +was changed since the last apply$/m);
    expect((await remote(0, 'apply', root, '--factory', factory)).output).toContain('No changes.');
  });

  it('prints the position of each error in the files and applies nothing', async () => {
    const factory = await newFactory();
    const root = directoryOf({
      'factory.yaml': 'schemaVersion: v1alpha1\nname: From files\nnmae: again\n',
      'webhooks/one.yaml': 'enabled: true\nsecretName: hook-secret\nauthMode: basic\n',
      'notes.txt': 'To do.',
    });
    const { output: plan, errors: reported } = await remote(1, 'apply', root, '--factory', factory);
    expect(plan).toBe('');
    expect(reported).toMatch(/^factory\.yaml:3:1: /m);
    expect(reported).toMatch(/^webhooks\/one\.yaml:3:11: /m);
    expect(reported).toMatch(/^notes\.txt:1:1: /m);
    expect(reported).toContain('headrace: nothing was applied.\n');
    const { token } = admin;
    expect((await api.request(200, `GET /factory/${factory}`, { token })).body.name).toBe('Factory');
  });

  it('finds the factory by alias, uses the only accessible one, and lists the factories when there are several', async () => {
    const own = await api.identities.team('One factory');
    const { token } = await api.identities.user({ [own]: 'admin' });
    vi.stubEnv('HEADRACE_TOKEN', token);
    const root = directoryOf({ 'factory.yaml': `${FACTORY}alias: the-one\n` });
    expect((await remote(1, 'apply', root)).errors).toContain('no factory is accessible');
    const create = async (name: string) => (await remote(0, 'factory', 'create', name, '--team', own)).output.trim();
    const only = await create('A');
    await remote(0, 'apply', root);
    const other = await create('B');
    const { errors: several } = await remote(1, 'apply', root);
    expect(several).toContain(`${only} (From files, the-one)`);
    expect(several).toContain(`${other} (B)`);
    expect((await remote(0, 'apply', root, '--factory', 'the-one')).output).toContain('No changes.');
    expect((await remote(1, 'apply', root, '--factory', 'the-')).errors).toContain('factory the- not found');
    expect((await remote(1, 'apply', root, '--factory', newUid())).errors).toMatch(/factory \S+ not found/);
    vi.stubEnv('HEADRACE_TOKEN', admin.token);
  });

  it('reports missing access, an invalid or missing token, and an address without the API', async () => {
    const factory = await newFactory();
    const root = directoryOf(FILES);
    const viewer = await api.identities.user({ [team]: 'viewer' });
    const tokenFile = join(directory, 'token');
    writeFileSync(tokenFile, `${viewer.token}\n`);
    const of = ['--factory', factory];
    const forbidden = await remote(1, 'apply', root, ...of, '--token-file', tokenFile);
    expect(forbidden.errors).toContain('You have no access to this factory');
    writeFileSync(tokenFile, 'not-a-token');
    const wrong = await remote(1, 'apply', root, ...of, '--token-file', tokenFile);
    expect(wrong.errors).toContain('the API rejected the token');
    expect(wrong.errors).not.toContain('not-a-token');
    writeFileSync(tokenFile, 'two words');
    expect((await remote(1, 'apply', root, ...of, '--token-file', tokenFile)).errors).toContain('invalid token');
    // An empty token file must not fall back to HEADRACE_TOKEN, whose user has more permissions.
    writeFileSync(tokenFile, '\n');
    const empty = await remote(1, 'apply', root, ...of, '--token-file', tokenFile);
    expect(empty.errors).toContain('--token-file: the file is empty');
    const closed = await closedPort();
    const unreachable = await headrace(1, 'apply', root, ...of, '--url', `http://127.0.0.1:${closed}`);
    expect(unreachable.errors).toContain(`the API at http://127.0.0.1:${closed}/api/v1 does not answer (ECONNREFUSED)`);
    const other = await headrace(1, 'apply', root, ...of, '--url', await startOtherServer());
    expect(other.errors).toContain('is not the API (200)');
    vi.stubEnv('HEADRACE_TOKEN', '');
    expect((await remote(1, 'apply', root, ...of)).errors).toContain('set HEADRACE_TOKEN');
    vi.stubEnv('HEADRACE_TOKEN', admin.token);
  });

  it('uses address and token of a running `up`, and sends the token to no other address', async () => {
    const data = join(directory, 'up');
    mkdirSync(data);
    const connection = { base_url: `${api.url}/api/v1`, token: admin.token };
    writeFileSync(join(data, 'connection.json'), JSON.stringify(connection));
    vi.stubEnv('HEADRACE_DATA_DIR', data);
    vi.stubEnv('HEADRACE_TOKEN', undefined);
    const factory = await newFactory();
    const root = directoryOf(FILES);
    expect((await headrace(0, 'apply', root, '--factory', factory)).output).toContain('1 created');
    const elsewhere = await headrace(1, 'apply', root, '--factory', factory, '--url', 'http://127.0.0.1:9');
    expect(elsewhere.errors).toContain('a token is required');
    vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'data'));
    vi.stubEnv('HEADRACE_TOKEN', admin.token);
  });

  it('follows symbolic links to files within the directory and rejects other links', async () => {
    const factory = await newFactory();
    const root = directoryOf(FILES);
    symlinkSync(join(root, 'webhooks/one.yaml'), join(root, 'webhooks/two.yaml'));
    expect((await remote(0, 'apply', root, '--factory', factory)).output).toMatch(/^\+ +webhook +two/m);
    const outside = join(directory, 'outside.yaml');
    writeFileSync(outside, WEBHOOK);
    const refused: [string, string][] = [
      [outside, 'webhooks/out.yaml is a link out of the directory'],
      [join(root, 'nothing'), 'is a dangling link'],
      [join(root, 'webhooks'), 'is a link to a directory'],
    ];
    for (const [target, expectedError] of refused) {
      symlinkSync(target, join(root, 'webhooks/out.yaml'));
      expect((await remote(1, 'apply', root, '--factory', factory)).errors).toContain(expectedError);
      rmSync(join(root, 'webhooks/out.yaml'));
    }
  });

  it.each<[string[], number, string]>([
    [['apply'], 2, '<directory> is missing'],
    [['apply', 'a', 'b'], 2, 'unexpected argument "b"'],
    [['apply', '/nowhere/at/all'], 1, '/nowhere/at/all cannot be read (ENOENT)'],
    [['apply', '/dev/null'], 1, '/dev/null is not a directory'],
    [['apply', 'test/cli', '--factory', ''], 2, '--factory is missing'],
    [['apply', 'test/cli', '--url', 'ftp://x'], 2, '--url must be an origin'],
    [['apply', 'test/cli', '--url', 'http://me:swordfish@x'], 2, '--url must be an origin'],
    [['apply', 'test/cli', '--url', 'http://x/elsewhere'], 2, '--url must be an origin'],
    [['apply', 'test/cli', '--token-file', '/nowhere/at/all'], 1, '--token-file: cannot be read (ENOENT)'],
    [['apply', 'test/cli', '--token', 'swordfish'], 2, "unknown option '--token'"],
    [['export'], 2, '<directory> is missing'],
  ])('rejects the arguments %j with exit code %i: %s', async (args, code, expectedError) => {
    const { errors: reported } = await headrace(code, ...args);
    expect(reported).toContain(expectedError);
    expect(reported).not.toContain('swordfish');
  });

  it('rejects files and names that are not UTF-8 text, and more than 1000 files', async () => {
    const root = directoryOf(FILES);
    for (const bytes of [Buffer.from([0xff, 0xfe]), Buffer.from('secretName: a\0')]) {
      writeFileSync(join(root, 'webhooks/two.yaml'), bytes);
      expect((await remote(1, 'apply', root)).errors).toContain('webhooks/two.yaml is not valid UTF-8 text');
    }
    // A file name that is not UTF-8 text cannot be opened by its decoded name.
    const invalidName = directoryOf(FILES);
    writeFileSync(Buffer.concat([Buffer.from(`${invalidName}/webhooks/`), Buffer.from([0xff])]), WEBHOOK);
    expect((await remote(1, 'apply', invalidName)).errors).toContain('webhooks/\uFFFD cannot be read (ENOENT)');
    const many = directoryOf(Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`f${index}`, ''])));
    expect((await remote(1, 'apply', many)).errors).toContain('exceeds 1000 files');
  });
});

describe('headrace apply in a separate process', () => {
  it('prints only the plan on standard output, and exits with 1 for invalid files and 2 for an unknown option', async () => {
    const factory = await newFactory();
    const run = (root: string, ...options: string[]) => {
      const args = ['bin/headrace.mjs', 'apply', root, '--factory', factory, '--url', api.url, ...options];
      return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
        execFile(process.execPath, args, { env: process.env }, (error, stdout, stderr) =>
          resolve({ code: error?.code ?? 0, stdout, stderr }),
        );
      });
    };
    const applied = await run(directoryOf(FILES));
    expect(applied).toMatchObject({ code: 0, stdout: expect.stringMatching(/^~ +factory .*\n\+ +webhook +one /) });
    expect(applied.stderr).toContain('2 files');
    const invalid = await run(directoryOf({ 'factory.yaml': 'name: 5\n' }));
    expect(invalid).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^factory\.yaml:1:7: /m) });
    expect(await run(directoryOf(FILES), '--all')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('headrace export', () => {
  it('writes the files that were applied, and another apply of them changes nothing', async () => {
    const factory = await newFactory();
    const source = directoryOf({
      ...FILES,
      'webhooks/two.yaml': '# Off for now.\nenabled: false\nsecretName: hook-secret\n',
    });
    await remote(0, 'apply', source, '--factory', factory);
    const target = newPath();
    const { output: written } = await remote(0, 'export', target, '--factory', factory);
    expect(written).toBe('factory.yaml\nwebhooks/one.yaml\nwebhooks/two.yaml\n');
    expect(filesIn(target)).toEqual(filesIn(source));
    expect((await remote(0, 'apply', target, '--factory', factory)).output).toContain('No changes.');
  });

  it('overwrites files only with --force and keeps all other files', async () => {
    const factory = await newFactory();
    const root = directoryOf({ ...FILES, '.git/HEAD': 'ref' });
    await remote(0, 'apply', root, '--factory', factory);
    writeFileSync(join(root, 'factory.yaml'), 'changed');
    writeFileSync(join(root, 'notes.txt'), 'mine');
    expect((await remote(1, 'export', root, '--factory', factory)).errors).toContain('--force');
    expect(filesIn(root)['factory.yaml']).toBe('changed');
    await remote(0, 'export', root, '--factory', factory, '--force');
    expect(filesIn(root)).toEqual({ ...FILES, '.git/HEAD': 'ref', 'notes.txt': 'mine' });
    const fresh = directoryOf({ '.git/HEAD': 'ref' });
    await remote(0, 'export', fresh, '--factory', factory);
    expect(filesIn(fresh)).toEqual({ ...FILES, '.git/HEAD': 'ref' });
  });

  it('rejects targets that are symbolic links', async () => {
    const factory = await newFactory();
    await remote(0, 'apply', directoryOf(FILES), '--factory', factory);
    const outside = directoryOf({ 'victim.yaml': 'untouched' });
    const linkedFile = directoryOf({ 'notes.txt': '' });
    symlinkSync(join(outside, 'victim.yaml'), join(linkedFile, 'factory.yaml'));
    const linkedDirectory = directoryOf({ 'notes.txt': '' });
    symlinkSync(outside, join(linkedDirectory, 'webhooks'));
    for (const root of [linkedFile, linkedDirectory])
      expect((await remote(1, 'export', root, '--factory', factory, '--force')).errors).toContain('link');
    expect(filesIn(outside)).toEqual({ 'victim.yaml': 'untouched' });
  });
});

describe('example factories', () => {
  it.each([
    ['ci-failures', 'builds', 'ci-builds', 'a-secret-of-the-build-server'],
    ['error-tracker', 'errors', 'error-tracker', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ])('applies the %s example in two steps and exports the same files', async (example, webhook, secret, value) => {
    await api.request(200, `PUT /secrets/${secret}`, { token: admin.token, body: { value } });
    const factory = await newFactory();
    const root = newPath();
    cpSync(join('examples', example, 'factory'), root, { recursive: true });
    const { output: first } = await remote(0, 'apply', root, '--factory', factory);
    const [, uid = ''] = new RegExp(`webhook +${webhook} +(\\w{22})`).exec(first) ?? [];
    cpSync(join('examples', example, 'automations'), join(root, 'automations'), { recursive: true });
    const { errors: early } = await remote(1, 'apply', root, '--factory', factory);
    expect(early).toMatch(new RegExp(`automation\\.md:\\d+:\\d+: .*${uid}`));
    const [name = ''] = readdirSync(join(root, 'automations'));
    const automation = join(root, 'automations', name, 'automation.md');
    writeFileSync(automation, readFileSync(automation, 'utf8').replace(`[${webhook}]`, `[${uid}]`));
    expect((await remote(0, 'apply', root, '--factory', factory)).output).toMatch(
      new RegExp(`^\\+ +automation +${name} `, 'm'),
    );
    const target = newPath();
    await remote(0, 'export', target, '--factory', factory);
    expect(filesIn(target)).toEqual(filesIn(root));
    expect((await remote(0, 'apply', target, '--factory', factory)).output).toContain('No changes.');
  });
});
