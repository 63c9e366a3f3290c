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

/** LEASE_TTL of 3 s plus 30 %, plus 2 s. */
const RECOVERY_LIMIT_MS = 3000 * 1.3 + 2000;
/** Until PostgreSQL has recovered, and the server has connected again. */
const DATABASE_RECOVERY_MS = 10_000;
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

const block = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

describe('recovery after kill -9', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let witness: Witness;

  beforeAll(async () => {
    installation = await Installation.create();
    server = await installation.up();
  });
  // All tests share one installation, so none of them may leave a service that executes no runs.
  beforeEach(() => {
    witness = new Witness();
  });
  afterEach(() => witness.remove());
  afterAll(async () => {
    await server.stopCleanly('SIGTERM');
    installation.remove();
  });

  const expectServiceExecutesRuns = async (): Promise<void> => {
    const next = await installation.createRun(block('echo the service continues'));
    expect(await installation.waitFor(next, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
  };

  const startWitnessed = async (seconds: number): Promise<string> => {
    const runId = await installation.createRun(block(witness.script(seconds)));
    await until(() => witness.spans()[0], 20_000, 'the start of the agent');
    return runId;
  };

  /** The runner of the witnessed run. The runner of an earlier run may still wait for messages. */
  const witnessedRunnerPid = (): number => {
    const isWitnessed = ({ argv }: ProcessFacts): boolean => argv.join(' ').includes(witness.file);
    const runner = runnersOf(server.child.pid ?? 0).find(({ pid }) => descendants(pid).some(isWitnessed));
    if (runner === undefined) throw new Error('The run has no runner.');
    return runner.pid;
  };

  it('ends a run with infrastructure_timeout and stops its agent after the runner was killed', async () => {
    const runId = await startWitnessed(30);
    const runner = witnessedRunnerPid();
    const tree = descendants(runner);
    expect(tree.length).toBeGreaterThan(1);
    const killedAt = performance.now();
    process.kill(runner, 'SIGKILL');
    const run = await installation.waitFor(runId, ENDED, RECOVERY_LIMIT_MS);
    expect(performance.now() - killedAt).toBeLessThan(RECOVERY_LIMIT_MS);
    expect(run).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    });
    await until(() => tree.every(({ pid }) => !isAlive(pid)), 5000, 'the end of the agent’s processes');
    await expectServiceExecutesRuns();
    expect(witness.spans()).toHaveLength(1);
  });

  it('executes a run again, and not concurrently, after its runner was killed during the set-up', async () => {
    const environment = await installation.call('POST', '/environments', {
      config: { name: 'slow', setup_commands: [witness.script(2)] },
    });
    expect(environment.status).toBe(201);
    const runId = await installation.createRun(block('echo done'), {
      config: { environment_id: environment.body.uid },
    });
    await until(() => witness.spans()[0], 20_000, 'the start of the set-up');
    const runner = witnessedRunnerPid();
    process.kill(runner, 'SIGKILL');
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    const [first, second, ...others] = witness.spans();
    expect(others).toEqual([]);
    expect(second?.from).toBeGreaterThan(first?.to ?? Infinity);
  });

  it('stops agent and runner while the server is down, and ends the run after the restart', async () => {
    const runId = await startWitnessed(30);
    const runner = witnessedRunnerPid();
    const tree = descendants(runner);
    process.kill(server.child.pid ?? 0, 'SIGKILL');
    await server.exited;
    await until(() => tree.every(({ pid }) => !isAlive(pid)), RECOVERY_LIMIT_MS, 'the end of the agent’s processes');
    await until(() => !isAlive(runner), 5000, 'the end of the runner');
    server = await installation.up();
    const run = await installation.waitFor(runId, ENDED, RECOVERY_LIMIT_MS);
    expect(run).toMatchObject({ state: 'ERROR', status_message: { error_code: 'infrastructure_timeout' } });
    await expectServiceExecutesRuns();
    expect(witness.spans()).toHaveLength(1);
  });

  it('ends a run in time and executes it once after the server was killed and restarted', async () => {
    const runId = await startWitnessed(2);
    process.kill(server.child.pid ?? 0, 'SIGKILL');
    await server.exited;
    server = await installation.up();
    // A run cannot be ended while no server runs, so the limit counts from the restart.
    const run = await installation.waitFor(runId, ENDED, RECOVERY_LIMIT_MS);
    expect(['SUCCEEDED', 'ERROR']).toContain(run.state);
    await expectServiceExecutesRuns();
    expect(witness.spans()).toHaveLength(1);
  });

  it('ends a run in time and executes the next one after PostgreSQL was killed', async () => {
    const runId = await startWitnessed(2);
    const postmaster = processes().find(
      ({ argv }) => argv[0]?.endsWith('/postgres') && argv.some((part) => part.includes(installation.dataDir)),
    );
    expect(postmaster).toBeDefined();
    process.kill(postmaster?.pid ?? 0, 'SIGKILL');
    const run = await installation.waitFor(runId, ENDED, RECOVERY_LIMIT_MS + DATABASE_RECOVERY_MS);
    expect(['SUCCEEDED', 'ERROR']).toContain(run.state);
    await expectServiceExecutesRuns();
    expect(witness.spans()).toHaveLength(1);
  });
});
