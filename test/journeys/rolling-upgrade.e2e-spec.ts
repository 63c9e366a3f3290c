import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase, type TestDatabase } from '#testing';
import { freePort, Installation, MAIN, Program, tick, until } from '../support/installation.js';
import { Witness } from '../support/witness.js';
import { isLong } from '../support/long-tests.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

/** The commit before the newest migration. Throws without a complete history, so that no test is skipped without notice. */
function previousVersion(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  const newest = git('log', '--diff-filter=A', '--format=%H', '-1', '--', 'libs/*/*/sql/migrations/*.sql');
  return git('rev-parse', '--verify', `${newest}^`);
}
const PREVIOUS = isLong ? previousVersion() : null;

describe.skipIf(PREVIOUS === null)('an upgrade of processes one after another', { timeout: 400_000 }, () => {
  let directory: string;
  let previous: string;
  let database: TestDatabase;
  let installation: Installation;
  let witness: Witness;
  let token: string;
  const programs: Program[] = [];
  /** The load balancer in front of the API, for runners. */
  let balancer: Server;
  let target: 'old' | 'new' = 'old';
  const ports = { old: { api: 0, ingress: 0 }, new: { api: 0, ingress: 0 } };

  const programOf = (version: 'old' | 'new'): string =>
    version === 'old' ? join(previous, 'dist/headrace.cjs') : MAIN;
  function start(version: 'old' | 'new', ...args: string[]): Program {
    const env = {
      ...installation.environment,
      PORT: String(ports[version].api),
      INGRESS_PORT: String(ports[version].ingress),
      ...(token === '' ? {} : { HEADRACE_TOKEN: token, HEADRACE_URL: `http://127.0.0.1:${ports[version].api}` }),
    };
    const child = spawn(process.execPath, [programOf(version), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const program = new Program(child, `${version} ${args.join(' ')}`);
    programs.push(program);
    return program;
  }
  async function output(version: 'old' | 'new', ...args: string[]): Promise<string> {
    const program = start(version, ...args);
    const code = await program.exited;
    if (code !== 0) throw new Error(`${program.label} ended with ${code}: ${program.text}`);
    return program.text.trim();
  }
  async function startAll(version: 'old' | 'new') {
    const api = start(version, 'api');
    const ingress = start(version, 'ingress');
    const processor = start(version, 'processor');
    await Promise.all([api.says('is ready'), ingress.says('is ready'), processor.says('is ready')]);
    return { api, ingress, processor };
  }
  const call = (version: 'old' | 'new', method: string, path: string, body?: unknown) =>
    fetch(`http://127.0.0.1:${ports[version].api}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const json = async (version: 'old' | 'new', method: string, path: string, body?: unknown): Promise<any> => {
    const response = await call(version, method, path, body);
    const text = await response.text();
    expect(response.ok, `${method} ${path}: ${response.status} ${text}`).toBe(true);
    return JSON.parse(text);
  };

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-upgrade-'));
    previous = join(directory, 'previous');
    await run('git', ['-C', ROOT, 'worktree', 'add', '--detach', previous, PREVIOUS ?? '']);
    symlinkSync(join(ROOT, 'node_modules'), join(previous, 'node_modules'));
    await run('npm', ['run', 'build'], { cwd: previous });
    token = '';
    database = await createEmptyDatabase();
    witness = new Witness();
    for (const version of ['old', 'new'] as const)
      ports[version] = { api: await freePort(), ingress: await freePort() };
    balancer = createServer((socket) => {
      const upstream = connect(ports[target].api, '127.0.0.1');
      for (const side of [socket, upstream])
        side
          .on('error', () => undefined)
          .once('close', () => {
            socket.destroy();
            upstream.destroy();
          });
      socket.pipe(upstream).pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(balancer, 'listening');
    installation = await Installation.create({
      RUNNER_API_URL: `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`,
      DATABASE_URL: database.url,
      MAX_CONCURRENT_RUNS: '6',
      MAX_CONCURRENT_RUNS_PER_TEAM: '6',
      MAX_IDLE_SESSIONS: '0',
      API_RATE_PER_MINUTE: '0',
      WEBHOOK_RATE_LIMIT: '6000',
      SHUTDOWN_GRACE: '30s',
      // Six processes and the runners of both versions share a machine that may be slow.
      LEASE_TTL: '30s',
    });
  }, 300_000);
  afterAll(async () => {
    for (const program of programs) await program.stop('SIGKILL');
    balancer.close();
    installation.remove();
    witness.remove();
    await database.close();
    await run('git', ['-C', ROOT, 'worktree', 'remove', '--force', previous]);
    rmSync(directory, { recursive: true, force: true });
  });

  it('loses no run and no delivery and executes nothing twice, and an earlier version does not start afterwards', async () => {
    await output('old', 'migrate');
    token = /hr_\S+/.exec(await output('old', 'administrator', 'create', 'owner@example.org'))?.[0] ?? '';
    const before = await startAll('old');
    const team = await output('old', 'team', 'create', 'Payments');
    const factory = await output('old', 'factory', 'create', 'Events', '--team', team);
    const webhook = await json('old', 'POST', `/factories/${factory}/webhooks`, { name: 'events', auth_mode: 'token' });
    const mark = (name: string): string =>
      `\`\`\`sh\numask 000; echo "$$" >> ${witness.directory}/${name}; sleep 0.5\n\`\`\``;
    await json('old', 'POST', `/factories/${factory}/automations`, {
      name: 'echo',
      enabled: true,
      prompt: mark('of-$(grep -o "[0-9]*" "$HEADRACE_ATTACHMENTS_DIR/event-payload.json")'),
      triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [webhook.uid] } }],
    });

    const runs = new Map<string, string>();
    const deliveries = new Set<number>();
    const entries: ('old' | 'new')[] = ['old'];
    const ending = new AbortController();
    const failures: string[] = [];
    let round = 0;
    // To the versions that run, in turns: a client behind a load balancer.
    const load = (async () => {
      for (; !ending.signal.aborted && round < 500; round += 1) {
        const version = entries[round % entries.length] ?? 'new';
        try {
          const response = await call(version, 'POST', '/agent/runs', { prompt: mark(`run-${round}`), team: true });
          if (response.ok) runs.set(((await response.json()) as { run_id: string }).run_id, `run-${round}`);
          else failures.push(`${version}: ${response.status} ${await response.text()}`);
          const path = new URL(webhook.ingress_url as string).pathname;
          const delivered = await fetch(`http://127.0.0.1:${ports[version].ingress}${path}`, {
            method: 'POST',
            headers: { authorization: `Bearer ${webhook.secret}`, 'content-type': 'application/json' },
            body: JSON.stringify({ number: round }),
          });
          if (delivered.status === 202) deliveries.add(round);
          else failures.push(`${version}: ${delivered.status} ${await delivered.text()}`);
        } catch (error) {
          failures.push(`${version}: ${String(error)}`);
        }
        // A pace that the slots can follow.
        await tick(150);
      }
    })();
    const progress = async (rounds: number): Promise<void> => {
      const from = round;
      await until(() => round >= from + rounds, 120_000, `${rounds} more rounds`);
    };

    await progress(15);
    await output('new', 'migrate');
    await progress(15);
    const after = await startAll('new');
    entries.push('new');
    await progress(30);
    // Behind a load balancer no request reaches a process that stops.
    entries.splice(0, entries.length, 'new');
    target = 'new';
    await progress(2);
    await before.api.stopCleanly();
    await before.ingress.stopCleanly();
    await before.processor.stopCleanly();
    await progress(15);
    ending.abort();
    await load;
    expect(failures).toEqual([]);

    for (const [runId] of runs)
      await until(
        async () => ENDED.includes((await json('new', 'GET', `/agent/runs/${runId}`)).state as string),
        120_000,
        `the end of ${runId}`,
      );
    for (const [runId] of runs) {
      const { state, status_message: status } = await json('new', 'GET', `/agent/runs/${runId}`);
      expect(state, JSON.stringify(status)).toBe('SUCCEEDED');
    }
    const linesOf = (name: string): number =>
      existsSync(join(witness.directory, name))
        ? readFileSync(join(witness.directory, name), 'utf8').trim().split('\n').length
        : 0;
    for (const name of runs.values()) expect([name, linesOf(name)]).toEqual([name, 1]);
    await until(
      () => readdirSync(witness.directory).filter((name) => name.startsWith('of-')).length === deliveries.size,
      120_000,
      'a run for each delivery',
    );
    for (const number of deliveries) expect([number, linesOf(`of-${number}`)]).toEqual([number, 1]);
    console.log(`${runs.size} runs and ${deliveries.size} deliveries during the upgrade: each executed once`);

    const downgraded = start('old', 'api');
    expect(await downgraded.exited).toBe(1);
    expect(downgraded.text).toContain('The database schema is newer than this version of Headrace');
    expect(after.processor.child.exitCode).toBeNull();
  });
});
