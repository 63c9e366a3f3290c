import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  descendants,
  Installation,
  isAlive,
  type ProcessFacts,
  processes,
  type Program,
  runnersOf,
  until,
} from '../support/installation.js';
import { Witness } from '../support/witness.js';

/** Lease time of 3 s, and the promise: within it + 30 % + 2 s. */
const PROMISE_MS = 3000 * 1.3 + 2000;
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

const block = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

describe('kill -9', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let witness: Witness;

  beforeAll(async () => {
    installation = await Installation.create();
    server = await installation.up();
  });
  // One installation for all of them: each has to leave it at work, and says so with `serviceContinues`.
  beforeEach(() => {
    witness = new Witness();
  });
  afterEach(() => witness.remove());
  afterAll(async () => {
    expect(await server.stop('SIGTERM')).toBe(0);
    installation.remove();
  });

  const serviceContinues = async (): Promise<void> => {
    const next = await installation.createRun(block('echo the service continues'));
    expect(await installation.waitFor(next, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
  };

  const startWitnessed = async (seconds: number): Promise<string> => {
    const runId = await installation.createRun(block(witness.script(seconds)));
    await until(() => witness.spans()[0], 20_000, 'the agent’s first sign of life');
    return runId;
  };

  /** Of the witnessed run: that of an earlier one may still wait for messages. */
  const itsRunner = (): number => {
    const isWitnessed = ({ argv }: ProcessFacts): boolean => argv.join(' ').includes(witness.file);
    const runner = runnersOf(server.child.pid ?? 0).find(({ pid }) => descendants(pid).some(isWitnessed));
    if (runner === undefined) throw new Error('The run has no runner.');
    return runner.pid;
  };

  it('of the runner: the run ends ERROR, its agent is gone, the service continues', async () => {
    const runId = await startWitnessed(30);
    const runner = itsRunner();
    const tree = descendants(runner);
    expect(tree.length).toBeGreaterThan(1);
    const killedAt = performance.now();
    process.kill(runner, 'SIGKILL');
    const run = await installation.waitFor(runId, ENDED, PROMISE_MS);
    expect(performance.now() - killedAt).toBeLessThan(PROMISE_MS);
    expect(run).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    });
    await until(() => tree.every(({ pid }) => !isAlive(pid)), 5000, 'the end of the agent’s processes');
    await serviceContinues();
    expect(witness.spans()).toHaveLength(1);
  });

  it('of the runner before the agent started: the run is executed again, never twice at once', async () => {
    const environment = await installation.call('POST', '/environments', {
      config: { name: 'slow', setup_commands: [witness.script(2)] },
    });
    expect(environment.status).toBe(201);
    const runId = await installation.createRun(block('echo done'), {
      config: { environment_id: environment.body.uid },
    });
    await until(() => witness.spans()[0], 20_000, 'the set-up’s first sign of life');
    const runner = itsRunner();
    process.kill(runner, 'SIGKILL');
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    const [first, second, ...others] = witness.spans();
    expect(others).toEqual([]);
    expect(second?.from).toBeGreaterThan(first?.to ?? Infinity);
  });

  it('of the whole server for long: the runner stops its agent by itself, and the run has ended after the restart', async () => {
    const runId = await startWitnessed(30);
    const runner = itsRunner();
    const tree = descendants(runner);
    process.kill(server.child.pid ?? 0, 'SIGKILL');
    await server.exited;
    await until(() => tree.every(({ pid }) => !isAlive(pid)), PROMISE_MS, 'the end of the agent’s processes');
    await until(() => !isAlive(runner), 5000, 'the end of the runner itself, whose log nobody reads any more');
    server = await installation.up();
    const run = await installation.waitFor(runId, ENDED, PROMISE_MS);
    expect(run).toMatchObject({ state: 'ERROR', status_message: { error_code: 'infrastructure_timeout' } });
    await serviceContinues();
    expect(witness.spans()).toHaveLength(1);
  });

  it('of the whole server, restarted at once: the run has ended in time, executed once', async () => {
    const runId = await startWitnessed(2);
    process.kill(server.child.pid ?? 0, 'SIGKILL');
    await server.exited;
    server = await installation.up();
    // Nobody can give a run up while no server is there: the promise counts from its return.
    const run = await installation.waitFor(runId, ENDED, PROMISE_MS);
    expect(['SUCCEEDED', 'ERROR']).toContain(run.state);
    await serviceContinues();
    expect(witness.spans()).toHaveLength(1);
  });

  it('of PostgreSQL: it is restarted by itself, the run ends, the service continues', async () => {
    const runId = await startWitnessed(2);
    const postmaster = processes().find(
      ({ argv }) => argv[0]?.endsWith('/postgres') && argv.some((part) => part.includes(installation.dataDir)),
    );
    expect(postmaster).toBeDefined();
    const killedAt = performance.now();
    process.kill(postmaster?.pid ?? 0, 'SIGKILL');
    const run = await installation.waitFor(runId, ENDED, PROMISE_MS);
    expect(performance.now() - killedAt).toBeLessThan(PROMISE_MS);
    expect(['SUCCEEDED', 'ERROR']).toContain(run.state);
    await serviceContinues();
    expect(witness.spans()).toHaveLength(1);
  });
});
