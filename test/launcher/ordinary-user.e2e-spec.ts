import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  api,
  checkout,
  connectionOf,
  isRoot,
  type Launched,
  NOBODY,
  pidsOf,
  processesNaming,
  removeDir,
  start,
  temporaryDir,
} from './launched.js';

/** Whether another user can read this checkout and its build. */
const isOpen = isRoot && canBeEntered(checkout);

let directory = '';
let launched: Launched | null = null;

beforeEach(() => {
  directory = temporaryDir();
});

afterEach(async () => {
  launched?.signal('SIGTERM');
  await launched?.exit;
  launched = null;
  removeDir(directory);
});

function canBeEntered(path: string): boolean {
  for (let at = realpathSync(path); ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return existsSync(join(path, 'dist/.headrace-stamp'));
  }
}

async function runOnce(dataDir: string): Promise<void> {
  await launched?.says(/Ctrl-C stops it\./);
  const connection = connectionOf(dataDir);
  const body = JSON.stringify({ prompt: '```sh\nid -u\n```' });
  const created = (await (await api(connection, '/agent/runs', connection.token, { method: 'POST', body })).json()) as {
    run_id: string;
  };
  await vi.waitFor(
    async () =>
      expect(await (await api(connection, `/agent/runs/${created.run_id}`)).json()).toMatchObject({
        state: 'SUCCEEDED',
      }),
    { timeout: 120_000, interval: 200 },
  );
}

describe.runIf(isOpen)('npm start as an ordinary user', () => {
  it('creates data that only this user can access, and leaves no process running', { timeout: 90_000 }, async () => {
    const dataDir = join(directory, 'home', 'data');
    mkdirSync(dirname(dataDir));
    chownSync(dirname(dataDir), NOBODY, NOBODY);
    launched = start(dataDir, 'up', {}, { uid: NOBODY, gid: NOBODY });
    await runOnce(dataDir);
    for (const name of ['.', 'connection.json', 'postgres', 'secrets']) {
      const { uid, mode } = statSync(join(dataDir, name));
      expect([name, uid, mode & 0o077]).toEqual([name, NOBODY, 0]);
    }
    launched.signal('SIGINT');
    expect(await launched.exit).toBe(0);
    expect(processesNaming(dataDir)).toEqual([]);
  });
});

describe.runIf(isRoot)('npm start as root', () => {
  it(
    'runs PostgreSQL as another user with accessible data when only root may enter the data directory',
    { timeout: 90_000 },
    async () => {
      chmodSync(directory, 0o700);
      const dataDir = join(directory, 'data');
      launched = start(dataDir);
      await runOnce(dataDir);
      const { server, postgres } = pidsOf(dataDir);
      expect(uidOf(server)).toBe(0);
      expect(uidOf(postgres)).not.toBe(0);
      expect(statSync(dataDir).mode & 0o777).toBe(0o711);
      for (const name of ['secrets', 'state', 'logs'])
        expect([name, statSync(join(dataDir, name)).mode & 0o777]).toEqual([name, 0o700]);
      const data = realpathSync(join(dataDir, 'postgres'));
      expect(readFileSync(join(dirname(data), 'belongs-to'), 'utf8').trim()).toBe(realpathSync(dataDir));
      launched.signal('SIGINT');
      expect(await launched.exit).toBe(0);
      expect(processesNaming(data)).toEqual([]);
      rmSync(dirname(data), { recursive: true });
    },
  );
});

function uidOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'uid=', '-p', String(pid)], { encoding: 'utf8' }));
}
