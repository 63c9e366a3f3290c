import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestIdentities } from '../../libs/testing/src/api/identities.js';
import { createTestDatabase, type TestDatabase } from '../../libs/testing/src/database/test-database.js';
import { Installation, type Program, processes, runnersOf, until } from '../support/installation.js';
import { Witness } from '../support/witness.js';

/** LEASE_TTL of 3 s plus 30 %, plus 2 s. */
const RECOVERY_LIMIT_MS = 3000 * 1.3 + 2000;
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

/** The processes use one PostgreSQL, as in an installation on several machines. */
describe('API, processor and ingress in separate processes', { timeout: 90_000 }, () => {
  let database: TestDatabase;
  let installation: Installation;
  let api: Program;
  let processor: Program;
  let witness: Witness;
  let token: string;
  let orphans: number[] = [];

  // No test stops the API, so all of them use one.
  beforeAll(async () => {
    database = await createTestDatabase();
    const identities = new TestIdentities(database);
    token = (await identities.user({ [await identities.team()]: 'member' })).token;
    installation = await Installation.create({
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '4',
      QUEUE_POOL_SIZE: '6',
      // A run of one second ends in it on a slow machine, too.
      SHUTDOWN_GRACE: '6s',
    });
    api = installation.start('api');
    await api.says('Headrace API is ready');
  });
  afterAll(async () => {
    await api.stop();
    await database.close();
    installation.remove();
  });

  beforeEach(async () => {
    witness = new Witness();
    processor = installation.start('processor');
    await processor.says('Headrace processor is ready');
  });

  afterEach(async () => {
    await processor.stop();
    for (const pid of orphans.filter((orphan) => processes().some((candidate) => candidate.pid === orphan)))
      process.kill(pid, 'SIGKILL');
    orphans = [];
    witness.remove();
  });

  const call = (method: string, path: string, body?: unknown) => installation.callAt(method, path, body, token);
  const create = async (script: string): Promise<string> =>
    (await call('POST', '/agent/runs', { prompt: `\`\`\`sh\n${script}\n\`\`\`` })).body.run_id as string;
  const ended = (runId: string, timeoutMs?: number) =>
    until(
      async () => {
        const { body } = await call('GET', `/agent/runs/${runId}`);
        return ENDED.includes(body.state as string) && body;
      },
      timeoutMs ?? 60_000,
      `the end of run ${runId}`,
    );

  it('finishes a run after its processor was killed, and executes queued runs with a new processor', async () => {
    const runId = await create(witness.script(3));
    await until(() => witness.spans()[0], 60_000, 'the start of the agent');
    orphans = runnersOf(processor.child.pid ?? 0).map(({ pid }) => pid);
    expect(orphans).toHaveLength(1);
    process.kill(processor.child.pid ?? 0, 'SIGKILL');
    await processor.exited;
    const queued = await create('echo later');
    expect((await ended(runId)).state).toBe('SUCCEEDED');
    expect((await call('GET', `/agent/runs/${queued}`)).body.state).toBe('QUEUED');
    processor = installation.start('processor');
    expect((await ended(queued)).state).toBe('SUCCEEDED');
    expect(witness.spans()).toHaveLength(1);
  });

  it('includes the runners of a killed processor when the next one stops: agents finish, idle sessions end', async () => {
    await ended(await create('echo idle'));
    const mayEnd = join(witness.directory, 'may-end');
    const working = await create(`echo 0 > ${witness.file}; until [ -e ${mayEnd} ]; do sleep 0.05; done`);
    await until(() => existsSync(witness.file), 60_000, 'the start of the agent');
    orphans = runnersOf(processor.child.pid ?? 0).map(({ pid }) => pid);
    process.kill(processor.child.pid ?? 0, 'SIGKILL');
    await processor.exited;
    processor = installation.start('processor');
    await until(
      () => processor.text.match(/a runner is supervised again/gu)?.length === 2,
      60_000,
      'the supervision of both runners',
    );
    const stopped = processor.stopCleanly('SIGTERM');
    writeFileSync(mayEnd, '');
    await stopped;
    expect(await ended(working, 1000)).toMatchObject({ state: 'SUCCEEDED' });
    expect(processes().filter(({ pid }) => orphans.includes(pid))).toEqual([]);
    expect(readdirSync(join(installation.dataDir, 'workspaces'))).toEqual([]);
  });

  it('ends a run with infrastructure_timeout and stops its agent after processor and runner were killed', async () => {
    const runId = await create(witness.script(30));
    await until(() => witness.spans()[0], 60_000, 'the start of the agent');
    const [runner] = runnersOf(processor.child.pid ?? 0);
    const killedAt = performance.now();
    process.kill(processor.child.pid ?? 0, 'SIGKILL');
    process.kill(runner?.pid ?? 0, 'SIGKILL');
    await processor.exited;
    processor = installation.start('processor');
    await processor.says('ready');
    const readyAt = performance.now();
    expect(await ended(runId, RECOVERY_LIMIT_MS)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout' },
    });
    expect(performance.now() - Math.max(readyAt, killedAt)).toBeLessThan(RECOVERY_LIMIT_MS);
    await until(
      () => !processes().some(({ argv }) => argv.join(' ').includes(witness.file)),
      40_000,
      'the end of the agent’s processes',
    );
  });

  it('finishes a short run and ends a long one with infrastructure_timeout when the processor stops', async () => {
    const quick = await create(witness.script(1));
    await until(() => witness.spans()[0], 60_000, 'the start of the agent');
    const stopped = processor.stop('SIGTERM');
    expect((await ended(quick)).state).toBe('SUCCEEDED');
    expect(await stopped).toBe(0);
    const long = await create(witness.script(60));
    processor = installation.start('processor');
    await until(() => witness.spans()[1], 30_000, 'the start of the second agent');
    await processor.stopCleanly('SIGTERM');
    expect(await ended(long, 1000)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout' },
    });
    expect(processes().filter(({ argv }) => argv.join(' ').includes(witness.file))).toEqual([]);
  });

  it('starts and stops the ingress as a separate process', async () => {
    const ingress = installation.start('ingress');
    await ingress.says('Headrace ingress is ready');
    await ingress.stopCleanly();
  });
});
