import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Installation, type Program, until } from './installation.js';
import { Witness } from './witness.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const CLAIM_DEADLINE_MS = 1000;
/** Less than LEASE_TTL, because a runner that is stopped during its claim counts the lease from before the stop. */
const STOPPED_MS = 2 * CLAIM_DEADLINE_MS;
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

export interface ExecutorUnderTest {
  /** The settings that select this executor. */
  settings(): Promise<Record<string, string>>;
  /** The directories or containers of executions that still exist. */
  leftovers(installation: Installation): readonly string[];
  /** The process id of the only runner. */
  runnerPid(server: Program): number | undefined;
  close?(): Promise<void>;
}

/** Defines the tests that every executor must pass. Call it at the top level of a test file. */
export function describeExecutor(name: string, executor: ExecutorUnderTest): void {
  describe(`${name} executor`, { timeout: 60_000 }, () => {
    let installation: Installation;
    let server: Program;
    let witness: Witness;

    beforeAll(async () => {
      witness = new Witness();
      const settings = await executor.settings();
      installation = await Installation.create({
        MAX_IDLE_SESSIONS: '0',
        CLAIM_DEADLINE: `${CLAIM_DEADLINE_MS}ms`,
        MAX_CONCURRENT_RUNS: '2',
        MAX_CONCURRENT_RUNS_PER_TEAM: '2',
        ...settings,
      });
      server = await installation.up();
    });

    afterAll(async () => {
      await server.stop('SIGTERM');
      await executor.close?.();
      installation.remove();
      witness.remove();
    });

    const expectNoLeftovers = (): Promise<unknown> =>
      until(() => executor.leftovers(installation).length === 0, 20_000, 'the removal of everything of the execution');

    it('executes the set-up and the agent of a run, and removes everything of the execution', async () => {
      const config = { name: 'kit', setup_commands: ['echo "$COLOUR" > made'], env: { COLOUR: 'blue' } };
      const environment = await installation.call('POST', '/environments', { config });
      const runId = await installation.createRun(sh('cat made; echo "$HOME"; pwd'), {
        config: { environment_id: environment.body.uid },
      });
      const run = await installation.waitFor(runId, ENDED);
      expect(run).toMatchObject({ state: 'SUCCEEDED' });
      const { body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
      expect(JSON.stringify(body)).toContain('blue');
      await expectNoLeftovers();
    });

    it('stops the agent of a cancelled run and removes everything of the execution', async () => {
      const runId = await installation.createRun(sh(witness.script(60)));
      await until(() => witness.spans()[0], 20_000, 'the start of the agent');
      expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
      expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'CANCELLED' });
      await expectNoLeftovers();
    });

    it('ends a run whose runner was killed with infrastructure_timeout, and executes the next run', async () => {
      const before = witness.spans().length;
      const runId = await installation.createRun(sh(witness.script(60)));
      await until(() => witness.spans()[before], 20_000, 'the start of the agent');
      process.kill(executor.runnerPid(server) ?? 0, 'SIGKILL');
      expect(await installation.waitFor(runId, ENDED)).toMatchObject({
        state: 'ERROR',
        status_message: { error_code: 'infrastructure_timeout', retryable: true },
      });
      await expectNoLeftovers();
      expect(witness.spans()).toHaveLength(before + 1);
      const next = await installation.createRun(sh('echo on'));
      expect(await installation.waitFor(next, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    });

    /** On a busy machine the runner may have claimed its execution before it is found, so there are several attempts. */
    async function suspendedBeforeClaim(attempts = 5): Promise<{ readonly runId: string; readonly pid: number }> {
      const runId = await installation.createRun(sh('echo late'));
      const pid = await until(() => executor.runnerPid(server), 20_000, 'the start of a runner');
      process.kill(pid, 'SIGSTOP');
      if ((await installation.run(runId)).state === 'PENDING') return { runId, pid };
      process.kill(pid, 'SIGCONT');
      await installation.waitFor(runId, ENDED);
      await expectNoLeftovers();
      if (attempts === 1) throw new Error('No runner was suspended before it claimed its execution.');
      return suspendedBeforeClaim(attempts - 1);
    }

    it('keeps the offer of a suspended runner that needs longer than CLAIM_DEADLINE to claim its execution', async () => {
      await until(() => executor.runnerPid(server) === undefined, 20_000, 'the end of the earlier runners');
      const { runId, pid } = await suspendedBeforeClaim();
      const stoppedAt = performance.now();
      try {
        await until(() => performance.now() - stoppedAt > STOPPED_MS, 20_000, 'the expiry of CLAIM_DEADLINE');
        expect(await installation.run(runId)).toMatchObject({ state: 'PENDING' });
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
      const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
      const types = body.events.map(({ event_type: type }: { event_type: string }) => type);
      expect(types.filter((type: string) => type === 'run_claimed')).toHaveLength(1);
      await expectNoLeftovers();
    });

    it('ends a run with infrastructure_timeout when the service stops, and removes everything of the execution', async () => {
      const before = witness.spans().length;
      const runId = await installation.createRun(sh(witness.script(60)));
      await until(() => witness.spans()[before], 20_000, 'the start of the agent');
      expect(await server.stop('SIGTERM')).toBe(0);
      expect(executor.leftovers(installation)).toEqual([]);
      server = await installation.up();
      expect(await installation.waitFor(runId, ENDED)).toMatchObject({
        state: 'ERROR',
        status_message: { error_code: 'infrastructure_timeout' },
      });
    });
  });
}
