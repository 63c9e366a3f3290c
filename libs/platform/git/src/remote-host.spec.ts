import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { GitFixture, GitServer } from '#testing';
import { MirrorCache } from './mirror-cache.js';
import type { GitHosts } from './remote-host.js';

/** A name that only the resolver given to the cache knows: git itself cannot resolve it. */
const NAME = 'git.headrace.test';
const LOOPBACK = ['127.0.0.1'];

let root: string;
let source: GitFixture;
let server: GitServer;
let redirecting: Server;
let daemon: ChildProcess;
let daemonPort: number;
let caches = 0;
const path = process.env['PATH'];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-hosts-'));
  source = new GitFixture(join(root, 'source'));
  source.commit({ a: 'a' });
  source.publish(join(root, 'served', 'a.git'));
  server = await GitServer.start({ root: join(root, 'served') });
  redirecting = createServer((request, response) => {
    response.writeHead(302, { location: `${server.url}${request.url ?? ''}` }).end();
  }).listen(0, '127.0.0.1');
  await once(redirecting, 'listening');
  daemonPort = await freePort();
  daemon = spawn(
    'git',
    [
      '-c',
      'safe.directory=*',
      'daemon',
      '--listen=127.0.0.1',
      `--port=${daemonPort}`,
      '--export-all',
      `--base-path=${root}/served`,
    ],
    { stdio: 'ignore', detached: true },
  );
  await vi.waitFor(() => reachable(daemonPort), { timeout: 10_000 });
  const script = `#!/bin/sh\ncat "$2" > '${root}/ssh-config'\nexec git -c safe.directory='*' upload-pack '${source.path}'\n`;
  writeFileSync(join(root, 'ssh'), script);
  chmodSync(join(root, 'ssh'), 0o755);
  process.env['PATH'] = `${root}:${path}`;
});
afterAll(async () => {
  process.env['PATH'] = path;
  const gone = once(daemon, 'exit');
  if (daemon.pid !== undefined) process.kill(-daemon.pid, 'SIGKILL');
  await gone;
  await server.stop();
  await new Promise((resolve) => redirecting.close(resolve));
  rmSync(root, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const probe = createTcpServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function reachable(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
}

const portOf = (url: string): string => new URL(url).port;
const redirectingUrl = (): string => `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;

/** The commit that is fetched from a URL; `named`: the addresses of {@link NAME}. */
async function fetchFrom(url: string, hosts: Partial<GitHosts>, named: readonly string[] = LOOPBACK): Promise<unknown> {
  const cache = new MirrorCache({
    directory: join(root, `mirrors-${(caches += 1)}`),
    hosts: {
      allowPrivate: [],
      lookup: (host) =>
        host === NAME
          ? Promise.resolve(named.map((address) => ({ address })))
          : Promise.reject(new Error(`No such host: ${host}.`)),
      ...hosts,
    },
  });
  return (await cache.mirror({ url })).resolve();
}

describe('a repository whose host is not at a public address', () => {
  it.each([
    'http://127.0.0.1:PORT/a.git',
    'http://0x7f000001:PORT/a.git',
    'http://2130706433:PORT/a.git',
    'http://[::1]:PORT/a.git',
    'http://[::ffff:127.0.0.1]:PORT/a.git',
    'http://169.254.169.254/a.git',
    'https://10.0.0.1/a.git',
    'git://127.0.0.1:DAEMON/a.git',
    'git://[::ffff:127.0.0.1]:DAEMON/a.git',
    'ssh://git@127.0.0.1/a.git',
    'git@127.0.0.1:a.git',
    `http://${NAME}:PORT/a.git`,
    `http://${NAME}.:PORT/a.git`,
    `ssh://git@${NAME}/a.git`,
    `git@${NAME}:a.git`,
    `git://${NAME}:DAEMON/a.git`,
  ])('%s is not fetched, and the message names no address', async (pattern) => {
    server.asked.length = 0;
    const url = pattern.replace('PORT', portOf(server.url)).replace('DAEMON', String(daemonPort));
    const failure: unknown = await fetchFrom(url, {}).catch((error: unknown) => error);
    expect(failure).toMatchObject({ reason: 'not_allowed', output: '' });
    expect(String(failure)).toContain('the setting GIT_ALLOW_PRIVATE');
    expect(String(failure)).not.toMatch(/127\.0\.0\.1|::1/);
    expect(server.asked).toEqual([]);
  });

  it.each([
    'http://8.8.8.8\\@127.0.0.1:PORT/a.git',
    'http://8.8.8.8:80\\@127.0.0.1:PORT/a.git',
    'http://8.8.8.8/\\@127.0.0.1:PORT/a.git',
  ])('%s has a backslash, which parsers of URLs disagree about, and is not fetched', async (pattern) => {
    server.asked.length = 0;
    const url = pattern.replace('PORT', portOf(server.url));
    const trusted = { trustedUrls: ['http://8.8.8.8/'] };
    await expect(fetchFrom(url, trusted)).rejects.toMatchObject({ reason: 'invalid' });
    expect(server.asked).toEqual([]);
  });

  it('is not fetched when only one of its addresses is public', async () => {
    const url = `http://${NAME}:${portOf(server.url)}/a.git`;
    await expect(fetchFrom(url, {}, ['8.8.8.8', '127.0.0.1'])).rejects.toMatchObject({ reason: 'not_allowed' });
  });

  it('is fetched from what GIT_ALLOW_PRIVATE lists, and from the server that the operator has chosen', async () => {
    const commit = source.git('rev-parse', 'HEAD');
    expect(await fetchFrom(`${server.url}/a.git`, { allowPrivate: ['loopback'] })).toBe(commit);
    expect(await fetchFrom(`${server.url}/a.git`, { trustedUrls: [`${server.url}/`] })).toBe(commit);
    await expect(fetchFrom(`${server.url}/a.git`, { trustedUrls: [redirectingUrl()] })).rejects.toMatchObject({
      reason: 'not_allowed',
    });
  });

  it('is not reached by a redirect', async () => {
    server.asked.length = 0;
    await expect(fetchFrom(`${redirectingUrl()}/a.git`, { allowPrivate: ['loopback'] })).rejects.toMatchObject({
      reason: 'not_allowed',
    });
    expect(server.asked).toEqual([]);
  });
});

describe('the address that was checked', () => {
  const hosts = { allowPrivate: ['loopback'] };

  it.each([
    ['http', `http://${NAME}:PORT/a.git`],
    ['git', `git://${NAME}:DAEMON/a.git`],
  ])('is the one that %s connects to, whatever the name resolves to afterwards', async (_protocol, pattern) => {
    const url = pattern.replace('PORT', portOf(server.url)).replace('DAEMON', String(daemonPort));
    expect(await fetchFrom(url, hosts)).toBe(source.git('rev-parse', 'HEAD'));
  });

  it.each([`ssh://git@${NAME}/a.git`, `git@${NAME}:a.git`])('is the one that ssh connects to: %s', async (url) => {
    expect(await fetchFrom(url, hosts)).toBe(source.git('rev-parse', 'HEAD'));
    expect(readFileSync(join(root, 'ssh-config'), 'utf8')).toMatch(/^HostName 127\.0\.0\.1$/m);
  });

  it('of a name that is not known is none, which may change', async () => {
    await expect(fetchFrom('https://unknown.headrace.test/a.git', hosts)).rejects.toMatchObject({
      reason: 'unavailable',
    });
  });
});
