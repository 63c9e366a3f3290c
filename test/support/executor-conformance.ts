import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExecutorHost, type HostName, HOSTS } from './executor-hosts.js';
import type { Place } from './executor-places.js';
import { isAlive, until } from './installation.js';
import { Witness } from './witness.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

/** Defines the tests that every executor must pass in every host. Call it at the top level of a test file. */
export function describeExecutor(name: string, createPlace: () => Place, hostName: HostName): void {
  const description = HOSTS[hostName];
  const { claimDeadlineMs, repeatsUnstarted } = description;

  describe(`${name} executor of a ${hostName}`, { timeout: 60_000 }, () => {
    let host: ExecutorHost;
    let witness: Witness;

    beforeAll(async () => {
      witness = new Witness();
      host = await description.open(createPlace());
    });

    afterAll(async () => {
      await host.close();
      witness.remove();
    });

    const expectNoLeftovers = (): Promise<unknown> =>
      until(() => host.leftovers().length === 0, 20_000, 'the removal of everything of the execution');
    const endOfKilledRunner = () => ({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    });
    const ended = (runId: string) => host.installation.waitFor(runId, ENDED);

    /** `environment`: the config of its environment. */
    async function createRun(script: string, environment?: object): Promise<string> {
      const { installation, runConfig } = host;
      if (!environment) return installation.createRun(sh(script), { config: runConfig });
      const { body } = await installation.call('POST', '/environments', { config: { name: 'kit', ...environment } });
      return installation.createRun(sh(script), { config: { ...runConfig, environment_id: body.uid } });
    }

    /** Creates a run whose agent works for a minute. Resolves when its agent works. */
    async function createWorkingRun() {
      const before = witness.spans().length;
      const runId = await createRun(witness.script(60));
      const { pid } = await until(() => witness.spans()[before], 20_000, 'the start of the agent');
      return {
        runId,
        /** Resolves when the agent has worked after this call. */
        works: async (): Promise<void> => {
          const from = witness.spans()[before]?.to ?? 0;
          await until(() => (witness.spans()[before]?.to ?? 0) > from, 20_000, 'the work of the agent');
        },
        expectEnded: (): void => {
          expect(isAlive(pid)).toBe(false);
          expect(witness.spans()).toHaveLength(before + 1);
        },
      };
    }

    const runnerPid = (): Promise<number> =>
      until(
        () => {
          const [pid, ...others] = host.runnerPids();
          return others.length === 0 && pid;
        },
        20_000,
        'the only runner',
      );

    it('executes the set-up and the agent of a run, and removes everything of the execution', async () => {
      const environment = { setup_commands: ['echo "$COLOUR" > made'], env: { COLOUR: 'blue' } };
      const runId = await createRun('cat made; echo "$HOME"; pwd', environment);
      expect(await ended(runId)).toMatchObject({ state: 'SUCCEEDED' });
      const { body } = await host.installation.call('GET', `/agent/runs/${runId}/conversation`);
      expect(JSON.stringify(body)).toContain('blue');
      await host.closeIdleSessions();
      await expectNoLeftovers();
    });

    it('stops the agent of a cancelled run and removes everything of the execution', async () => {
      const { runId, expectEnded } = await createWorkingRun();
      await host.cancel(runId);
      expect(await ended(runId)).toMatchObject({ state: 'CANCELLED' });
      await expectNoLeftovers();
      expectEnded();
    });

    it(`${repeatsUnstarted ? 'repeats' : 'ends'} an execution whose runner was killed before its agent started`, async () => {
      const [starts, released] = [join(witness.directory, 'starts'), join(witness.directory, 'released')];
      const runId = await createRun('echo released', {
        setup_commands: [`umask 000; echo start >> ${starts}; until [ -e ${released} ]; do sleep 0.05; done`],
      });
      const count = (): number => (existsSync(starts) ? readFileSync(starts, 'utf8').split('\n').length - 1 : 0);
      await until(() => count() === 1, 20_000, 'the start of the set-up');
      process.kill(await runnerPid(), 'SIGKILL');
      if (repeatsUnstarted) await until(() => count() === 2, 20_000, 'the set-up of the second execution');
      writeFileSync(released, '');
      expect(await ended(runId)).toMatchObject(repeatsUnstarted ? { state: 'SUCCEEDED' } : endOfKilledRunner());
      expect(count()).toBe(repeatsUnstarted ? 2 : 1);
      await expectNoLeftovers();
    });

    it('ends a run whose runner was killed with infrastructure_timeout, and executes the next run', async () => {
      const { runId, expectEnded } = await createWorkingRun();
      process.kill(await runnerPid(), 'SIGKILL');
      expect(await ended(runId)).toMatchObject(endOfKilledRunner());
      await expectNoLeftovers();
      expectEnded();
      expect(await ended(await createRun('echo on'))).toMatchObject({ state: 'SUCCEEDED' });
    });

    it.runIf(claimDeadlineMs !== null)(
      'keeps the offer of a suspended runner that needs longer than CLAIM_DEADLINE to claim its execution',
      async () => {
        await until(() => host.runnerPids().length === 0, 20_000, 'the end of the earlier runners');
        const { runId, pid } = await suspendedBeforeClaim();
        // Less than LEASE_TTL, because a runner that is stopped during its claim counts the lease from before the stop.
        const stoppedUntil = performance.now() + 2 * (claimDeadlineMs ?? 0);
        try {
          await until(() => performance.now() > stoppedUntil, 20_000, 'the expiry of CLAIM_DEADLINE');
          expect(await host.installation.run(runId)).toMatchObject({ state: 'PENDING' });
        } finally {
          process.kill(pid, 'SIGCONT');
        }
        expect(await ended(runId)).toMatchObject({ state: 'SUCCEEDED' });
        const { body } = await host.installation.call('GET', `/agent/runs/${runId}/timeline`);
        const types = body.events.map(({ event_type: type }: { event_type: string }) => type);
        expect(types.filter((type: string) => type === 'run_claimed')).toHaveLength(1);
        await expectNoLeftovers();
      },
    );

    /** On a busy machine the runner may have claimed its execution before it is found, so there are several attempts. */
    async function suspendedBeforeClaim(attempts = 5): Promise<{ readonly runId: string; readonly pid: number }> {
      const runId = await createRun('echo late');
      const pid = await until(() => host.runnerPids()[0], 20_000, 'the start of a runner');
      process.kill(pid, 'SIGSTOP');
      // More than once: the server may still have to handle a claim that the runner has sent.
      const states: string[] = [];
      while (states.length < 4) states.push((await host.installation.run(runId)).state as string);
      if (states.every((state) => state === 'PENDING')) return { runId, pid };
      process.kill(pid, 'SIGCONT');
      await ended(runId);
      await expectNoLeftovers();
      if (attempts === 1) throw new Error('No runner was suspended before it claimed its execution.');
      return suspendedBeforeClaim(attempts - 1);
    }

    it('ends a run with infrastructure_timeout when its host stops, and removes everything of the execution', async () => {
      const { runId, works, expectEnded } = await createWorkingRun();
      await host.stop(works);
      expect(host.leftovers()).toEqual([]);
      expectEnded();
      await host.start();
      expect(await ended(runId)).toMatchObject({
        state: 'ERROR',
        status_message: { error_code: 'infrastructure_timeout' },
      });
    });
  });
}
