import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Backend, type BackendTask, type RunningTask, StartFault } from '#execution/backends';
import { RUNNER_EXIT } from '#execution/runner';
import { ControlPlaneDouble } from './control-plane-double.js';
import { until } from './until.js';

/** The double of the control plane knows this execution. Each test has a separate key. */
const EXECUTION = '1';
/** For the built-in agent. */
const WORKS = '```sh\necho at work; sleep 300\n```';

export interface BackendUnderTest {
  /** Starts what the backend needs, such as an engine. */
  setUp?(): Promise<void>;
  tearDown?(): Promise<void>;
  /** Another process of the same host: backends of one key find each other's executions. */
  create(key: string): Promise<Backend>;
  /** An address of this machine for the server that runners call; default: the loopback address. */
  readonly host?: string;
  /** False: a runner gets SIGTERM a second before SIGKILL, so it may report its end. */
  readonly killsAtOnce?: boolean;
  /** The origin under which runners of this backend reach that server. */
  origin(server: URL): string;
  /** The value that marks the processes of an execution. */
  marker(key: string, executionId: string): string;
  /** The directories or containers of executions that exist. */
  leftovers(): readonly string[] | Promise<readonly string[]>;
}

/** Defines the tests that every backend must pass. Call it at the top level of a test file. */
export function backendConformance(name: string, under: BackendUnderTest): void {
  describe(`${name} backend`, { timeout: 60_000 }, () => {
    let key: string;
    let backend: Backend;
    let plane: ControlPlaneDouble;
    let started: RunningTask[];

    beforeAll(() => under.setUp?.());
    afterAll(() => under.tearDown?.());
    beforeEach(async () => {
      key = randomUUID();
      started = [];
      backend = await under.create(key);
      await backend.prepare();
      await until(() => backend.isReady, 10_000, 'the backend');
      plane = await ControlPlaneDouble.start({}, under.host);
    });
    afterEach(async () => {
      for (const task of started) task.signal('SIGKILL');
      await Promise.all(started.map((task) => task.ended));
      backend.close?.();
      await plane.stop();
      expect(await under.leftovers()).toEqual([]);
    });

    const backendTask = (): BackendTask => ({
      executionId: EXECUTION,
      image: () => Promise.resolve(null),
      handover: (place) => ({
        base_url: `${under.origin(new URL(plane.baseUrl))}/api/v1`,
        execution_id: EXECUTION,
        token: plane.token,
        marker: under.marker(key, EXECUTION),
        claim_seconds: 5,
        limits: {
          max_workspace_bytes: 1_000_000_000,
          max_output_bytes: 1_000_000,
          setup_command_timeout_seconds: 30,
          cancel_step_seconds: 1,
        },
        ...place,
      }),
    });
    const start = async (): Promise<RunningTask> => {
      const task = await backend.start(backendTask(), new AbortController().signal);
      started.push(task);
      return task;
    };
    const atWork = (): Promise<void> =>
      plane.until(() => JSON.stringify(plane.calls()).includes('at work'), 'the work of the agent');
    const states = async (of: Backend): Promise<string[]> =>
      (await of.list()).map(({ executionId, state }) => `${executionId} ${state}`);

    it('starts a runner that claims its execution only after it has got its hand-over', async () => {
      const task = await start();
      expect(plane.requests).toEqual([]);
      await task.begin();
      await plane.untilEvent('turn_ended');
      plane.want('close');
      expect(await task.ended).toEqual({ kind: 'exited', code: RUNNER_EXIT.reported, signal: null });
      expect(await under.leftovers()).toEqual([]);
    });

    it('reports a runner that could not claim its execution', async () => {
      plane.fail('POST /claim', 409, 100);
      const task = await start();
      await task.begin();
      const end = await task.ended;
      expect(end).toMatchObject({ kind: 'exited' });
      expect(end).not.toMatchObject({ code: RUNNER_EXIT.reported });
    });

    it.each(['SIGTERM', 'SIGKILL'] as const)('ends a runner with %s, and removes everything of it', async (signal) => {
      plane.assignment.prompt = WORKS;
      const task = await start();
      await task.begin();
      await atWork();
      task.signal(signal);
      const end = await task.ended;
      if (signal === 'SIGTERM') expect(end).toMatchObject({ code: RUNNER_EXIT.reported });
      else if (under.killsAtOnce ?? true) expect(end).not.toMatchObject({ code: RUNNER_EXIT.reported });
      expect(await under.leftovers()).toEqual([]);
    });

    it('leaves nothing of a start that was stopped', async () => {
      const stop = new AbortController();
      stop.abort();
      const rejection = await backend.start(backendTask(), stop.signal).catch((error: unknown) => error);
      expect(rejection).toBeInstanceOf(StartFault);
      expect(rejection).toMatchObject({ reason: 'runner_stopped' });
      expect(await under.leftovers()).toEqual([]);
    });

    it('lists and reattaches the runner of an earlier process of the host', async () => {
      plane.assignment.prompt = WORKS;
      const task = await start();
      await task.begin();
      await atWork();
      const later = await under.create(key);
      await later.prepare();
      expect(await states(later)).toEqual([expect.stringMatching(/^1 (running|unknown)$/)]);
      const again = await later.reattach(EXECUTION, task.handle);
      again?.signal('SIGKILL');
      expect(await again?.ended).toMatchObject({ kind: expect.stringMatching(/^(exited|vanished)$/) });
      await task.ended;
      expect(await states(later)).toEqual([]);
      expect(await later.reattach(EXECUTION, task.handle)).toBeNull();
    });

    it('removes an execution with its processes, also one that does not exist', async () => {
      plane.assignment.prompt = WORKS;
      const task = await start();
      await task.begin();
      await atWork();
      await backend.remove(EXECUTION, task.handle);
      expect(await states(backend)).toEqual([]);
      await backend.remove(EXECUTION, task.handle);
      await task.ended;
    });
  });
}
