import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ControlPlaneDouble, createEmptyDatabase } from '#testing';
import { isLong } from '../support/long-tests.js';
import { packedHeadrace } from '../support/packed-headrace.js';
import { daemonPlace, removePlace, startDaemon } from './daemon-process.js';
import { WorkerServer } from './worker-server.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

// The release needs them. Packing alone takes longer than most tests.
describe.runIf(isLong)('the npm package', () => {
  let directory: string;
  let program: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-package-'));
    await run('tar', ['-xzf', await packedHeadrace(), '-C', directory]);
    // What an installation would fetch.
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    program = join(directory, 'package/bin/headrace.mjs');
  }, 60_000);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('has the command line, and neither tests nor sources', async () => {
    const { stdout } = await run(process.execPath, [program, 'worker', '--help'], { cwd: directory });
    expect(stdout).toContain('--max-concurrent-tasks');
    const { stdout: listed } = await run('find', [join(directory, 'package'), '-name', '*.ts', '-o', '-name', '*.map']);
    const sources = listed.split('\n').filter((file) => file !== '' && !file.endsWith('.d.ts'));
    expect(sources).toEqual([]);
  });

  it('migrates a database with the SQL files that it contains', async () => {
    const database = await createEmptyDatabase();
    try {
      const env = { PATH: process.env.PATH, HOME: directory, HEADRACE_DATA_DIR: directory, DATABASE_URL: database.url };
      await run(process.execPath, [program, 'migrate'], { cwd: directory, env });
      expect(await database.query('SELECT count(*)::int AS n FROM headrace.runs')).toEqual([{ n: 0 }]);
    } finally {
      await database.close();
    }
  });

  it('runs a worker with its runner and built-in agent', async () => {
    const server = await WorkerServer.start();
    const plane = await ControlPlaneDouble.start({ prompt: 'Say hello.' });
    const place = daemonPlace();
    const addresses = ['--web-socket-url', server.url, '--server-root-url', new URL(plane.baseUrl).origin];
    const daemon = startDaemon(place, addresses, {}, program);
    try {
      await server.untilFrame('hello');
      server.assign('1', { token: plane.token });
      await plane.untilEvent('turn_ended');
      plane.want('close');
      await server.untilFrame('task_completed');
      await daemon.stopCleanly();
    } finally {
      await daemon.stop('SIGKILL');
      await Promise.all([server.stop(), plane.stop()]);
      removePlace(place);
    }
  });
});

it('the npm package has no settings of an installation that the repository contains', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'headrace-repository-'));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'));
  cpSync(join(ROOT, 'deploy'), join(copy, 'deploy'), { recursive: true });
  const secret = ['compose.env', 'compose.env.bak', '.env', '.env.local', 'secrets.env.old', 'key', 'kubernetes/key'];
  const ofChart = 'helm/headrace/values-production.yaml';
  const written = [...secret, ofChart, 'helm/headrace/templates/.env', '.headrace/secrets/secrets-key'];
  for (const name of written) {
    mkdirSync(dirname(join(copy, 'deploy', name)), { recursive: true });
    writeFileSync(join(copy, 'deploy', name), 'SECRETS_KEY=only-for-this-test\n');
  }
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: copy });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  expect(paths.filter((path) => written.includes(path.replace(/^deploy\//, '')))).toEqual([]);
  const { stdout: tracked } = await run('git', ['-C', ROOT, 'ls-files', 'deploy']);
  const shipped = tracked
    .trim()
    .split('\n')
    .filter((path) => !path.includes('/ci/'));
  expect(paths.filter((path) => path.startsWith('deploy/')).toSorted()).toEqual(shipped.toSorted());
});
