import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../libs/testing/src/database/test-database.js';
import { descendants, Installation, isAlive, type Program, runnersOf, until } from '../support/installation.js';
import { Witness } from '../support/witness.js';
import { isLong } from '../support/long-tests.js';

const fence = (info: string, body: string): string => `\`\`\`${info}\n${body}\n\`\`\``;
const sh = (script: string): string => fence('sh', script);
const WINDOW_MS = 60_000;

/** An environment whose second set-up command fails until `fix` is called. Its output contains a code block for the agent. */
interface BrokenEnvironment {
  readonly uid: string;
  fix(): void;
}

describe('debug window of a failed run', { timeout: 90_000 }, () => {
  let database: TestDatabase;
  let installation: Installation;
  let server: Program;
  let witness: Witness;
  let made = 0;

  beforeAll(async () => {
    witness = new Witness();
    database = await createTestDatabase();
    installation = await Installation.create({
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '4',
      QUEUE_POOL_SIZE: '6',
      HEADRACE_TEST_CLOCK: 'true',
      // Longer than the debug window, so that no lease expires when the clock is advanced by its length.
      LEASE_TTL: '90s',
    });
    server = await installation.up();
  }, 60_000);

  afterAll(async () => {
    await server.stop('SIGTERM');
    await database.close();
    installation.remove();
    witness.remove();
  });

  const forbiddenFile = (): string => join(witness.directory, 'trapped');

  async function createBrokenEnvironment(): Promise<BrokenEnvironment> {
    made += 1;
    const file = join(witness.directory, `fixed-${made}`);
    const print = `printf '%s\\n' 'no rule to make deps' '${'`'.repeat(3)}sh' 'touch ${forbiddenFile()}' '${'`'.repeat(3)}'`;
    const { status, body } = await installation.call('POST', '/environments', {
      config: {
        name: `broken ${made}`,
        setup_commands: ['echo prepared > state.txt', `cat state.txt; ${print}; test -e ${file} || exit 7`],
        failure_session_retention_minutes: 1,
      },
    });
    expect(status).toBe(201);
    return { uid: body.uid as string, fix: () => writeFileSync(file, '') };
  }

  const runners = (): number[] => runnersOf(server.child.pid ?? 0).map(({ pid }) => pid);

  /** Creates a run that fails in its set-up, and returns it with the process id of its runner. */
  const failed = async (environment: BrokenEnvironment): Promise<{ runId: string; runner: number }> => {
    const before = runners();
    const runId = await installation.createRun(sh('echo the work itself'), {
      config: { environment_id: environment.uid },
    });
    expect(await installation.waitFor(runId, ['FAILED'])).toMatchObject({ debug_agent_available: true });
    const runner = runners().find((pid) => !before.includes(pid));
    if (runner === undefined) throw new Error('The run has no runner.');
    return { runId, runner };
  };

  const say = async (runId: string, message: string): Promise<string> => {
    const answer = await installation.call('POST', `/agent/runs/${runId}/followups`, { message });
    return answer.status === 200 ? (answer.body.outcome as string) : String(answer.status);
  };

  /** Sends a message to the debug agent, waits for the end of its turn and returns the conversation. */
  const debug = async (runId: string, message: string): Promise<string> => {
    const before = await installation.run(runId);
    expect(await say(runId, message)).toBe('live_session');
    const after = await until(
      async () => {
        const run = await installation.run(runId);
        return run.status_message.debug_agent_active === false && run;
      },
      20_000,
      'the end of the debug agent’s turn',
    );
    const failureOf = ({ state, status_message: { message: text, error_code: code } }: typeof after): unknown => [
      state,
      text,
      code,
    ];
    expect(failureOf(after)).toEqual(failureOf(before));
    expect(Date.parse(after.status_message.session_debug_until)).toBeGreaterThan(
      Date.parse(before.status_message.session_debug_until),
    );
    return said(runId);
  };

  const said = async (runId: string): Promise<string> =>
    JSON.stringify((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body.steps);

  const closed = (runId: string): Promise<unknown> =>
    until(
      async () => (await installation.run(runId)).is_sandbox_running === false,
      20_000,
      'the end of the retained session',
    );

  it('runs a debug agent in the prepared workspace without a change of the failed run', async () => {
    const environment = await createBrokenEnvironment();
    const { runId } = await failed(environment);
    const run = await installation.run(runId);
    expect(run.status_message).toMatchObject({
      error_code: 'environment_setup_failed',
      message: expect.stringMatching(/^Set-up command 2 [^]*failed with exit code 7[^]*no rule to make deps/),
      debug_agent_active: false,
    });
    expect(await debug(runId, sh('cat state.txt'))).toContain('prepared\\n');
    const talk = await debug(runId, `Change it: ${fence('write path=state.txt', 'repaired')}\n${sh('cat state.txt')}`);
    expect(talk).toContain('repaired\\n');
    expect(talk).not.toContain('the work itself');
    // The agent must not execute the code block that the set-up has printed.
    expect(existsSync(forbiddenFile())).toBe(false);
    expect(await installation.run(runId)).toMatchObject({ started_at: null, debug_agent_available: true });

    await database.advanceClock(WINDOW_MS + 1000);
    await closed(runId);
    const rest = await installation.run(runId);
    expect(rest).toMatchObject({ state: 'FAILED', debug_agent_available: false });
    expect(rest.status_message).not.toHaveProperty('session_debug_until');

    environment.fix();
    expect(await say(runId, sh('echo and what was said behind it'))).toBe('handoff_execution');
    expect(await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'])).toMatchObject({ state: 'SUCCEEDED' });
    const whole = await said(runId);
    expect(whole.indexOf('the work itself')).toBeGreaterThan(whole.indexOf('repaired'));
    expect(whole.indexOf('and what was said behind it')).toBeGreaterThan(whole.indexOf('the work itself'));
  });

  it('closes an unused debug window at its deadline, stops the runner and rejects a later follow-up with 400', async () => {
    const { runId, runner } = await failed(await createBrokenEnvironment());
    await database.advanceClock(WINDOW_MS + 1000);
    await closed(runId);
    await until(() => !isAlive(runner), 10_000, 'the end of the runner');
    expect(await installation.run(runId)).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed' },
    });
    expect(await say(runId, 'Anybody there?')).toBe('400');
  });

  it('keeps the failure of a run and stops its debug agent after the runner was killed', async () => {
    for (const isAtWork of [false, true]) {
      const { runId, runner } = await failed(await createBrokenEnvironment());
      const { status_message: before } = await installation.run(runId);
      if (isAtWork) {
        expect(await say(runId, sh('sleep 301'))).toBe('live_session');
        await until(
          () => descendants(runner).some(({ argv }) => argv.join(' ').includes('sleep 301')),
          20_000,
          'the command of the debug agent',
        );
        expect(await installation.run(runId)).toMatchObject({ status_message: { debug_agent_active: true } });
      }
      const tree = descendants(runner);
      process.kill(runner, 'SIGKILL');
      await closed(runId);
      await until(() => tree.every(({ pid }) => !isAlive(pid)), 10_000, 'the end of the processes of the runner');
      const run = await installation.run(runId);
      expect([run.state, run.status_message]).toEqual([
        'FAILED',
        { message: before.message, error_code: 'environment_setup_failed', retryable: false },
      ]);
      expect(await say(runId, 'And now?')).toBe(isAtWork ? 'handoff_execution' : '400');
    }
  });

  it.runIf(isLong)('continues a debug window after the server was killed and restarted', async () => {
    const { runId } = await failed(await createBrokenEnvironment());
    process.kill(server.child.pid ?? 0, 'SIGKILL');
    await server.exited;
    server = await installation.up();
    expect(await installation.run(runId)).toMatchObject({ state: 'FAILED', debug_agent_available: true });
    expect(await debug(runId, sh('cat state.txt'))).toContain('prepared\\n');
    await database.advanceClock(WINDOW_MS + 1000);
    await closed(runId);
  });

  it('closes a debug window when the server stops with SIGTERM', async () => {
    const { runId, runner } = await failed(await createBrokenEnvironment());
    await server.stopCleanly('SIGTERM');
    expect(isAlive(runner)).toBe(false);
    server = await installation.up();
    expect(await installation.run(runId)).toMatchObject({
      state: 'FAILED',
      is_sandbox_running: false,
      debug_agent_available: false,
      status_message: { error_code: 'environment_setup_failed' },
    });
  });
});
