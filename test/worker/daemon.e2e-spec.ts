import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlPlaneDouble } from '#testing';
import { fence, prompt } from '../runner/runner-process.js';
import { processes, type Program, until } from '../support/installation.js';
import {
  API_KEY,
  type DaemonPlace,
  daemonPlace,
  journalOf,
  killRemains,
  remains,
  removePlace,
  startDaemon,
} from './daemon-process.js';
import { WorkerServer } from './worker-server.js';

const TASK = '01900000-0000-7000-8000-000000000001';

describe('headrace worker', () => {
  let server: WorkerServer;
  let plane: ControlPlaneDouble;
  let place: DaemonPlace;
  let daemons: Program[];

  beforeEach(async () => {
    server = await WorkerServer.start();
    plane = await ControlPlaneDouble.start({ prompt: 'Say hello.' });
    place = daemonPlace();
    daemons = [];
  });
  afterEach(async () => {
    const entries = existsSync(join(place.dataDir, 'journal')) ? journalOf(place) : [];
    for (const daemon of daemons) await daemon.stop('SIGKILL');
    killRemains(entries);
    await Promise.all([server.stop(), plane.stop()]);
    removePlace(place);
  });

  const start = (args: string[] = [], environment: Record<string, string> = {}): Program => {
    const root = new URL(plane.baseUrl).origin;
    const addresses = ['--web-socket-url', server.url, '--server-root-url', root];
    const daemon = startDaemon(place, [...addresses, ...args], environment);
    daemons.push(daemon);
    return daemon;
  };
  const assign = (): void => server.assign('1', { token: plane.token });
  const works = (text: string): Promise<void> => plane.until(() => plane.said.includes(text), `the agent says ${text}`);
  const waiting = prompt('Wait.', fence('sh', 'setsid sleep 300 >/dev/null 2>&1 &\necho ready; sleep 300'));
  const atWork = (): Promise<void> =>
    plane.until(() => JSON.stringify(plane.calls()).includes('ready\\n'), 'the agent works');

  it('sends hello, executes a task and reports its end', async () => {
    mkdirSync(join(place.directory, 'repo/.claude/skills/tidy'), { recursive: true });
    mkdirSync(join(place.directory, 'repo/.git'));
    writeFileSync(
      join(place.directory, 'repo/.git/config'),
      '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://me:secret@git.example.com/acme/tools.git\n',
    );
    writeFileSync(
      join(place.directory, 'repo/.claude/skills/tidy/SKILL.md'),
      '---\nname: tidy-up\ndescription: Tidies up\n---\nDo it.\n',
    );
    const harnesses = join(place.directory, 'harnesses.json');
    const own = { command: 'house-agent-that-is-not-there', install_hint: 'see page Agents' };
    writeFileSync(harnesses, JSON.stringify({ harnesses: { house: own } }));
    const daemon = start([
      '--harnesses',
      harnesses,
      '--skills-dir',
      join(place.directory, 'repo'),
      '--max-concurrent-tasks',
      '2',
      '--label',
      'a=b',
    ]);
    const hello = await server.untilFrame('hello');
    expect(hello.data).toMatchObject({
      protocol: 1,
      backend: 'process',
      slots: 2,
      labels: { a: 'b' },
      skills: [
        {
          name: 'tidy-up',
          description: 'Tidies up',
          repository: 'acme/tools',
          path: '.claude/skills/tidy/SKILL.md',
        },
      ],
      tasks: [],
    });
    expect(hello.data.harnesses).toContainEqual(expect.objectContaining({ id: 'oz', installed: true }));
    expect(hello.data.harnesses).toContainEqual({
      id: 'house',
      installed: false,
      install_hint: own.install_hint,
    });
    const [upgrade] = server.upgrades;
    expect(upgrade?.url).toBe('/api/v1/selfhosted/worker/ws?worker_id=host-1');
    expect(upgrade?.headers.authorization).toBe(`Bearer ${API_KEY}`);
    assign();
    expect((await server.untilFrame('task_claimed')).data).toEqual({ task_id: TASK, worker_id: 'host-1' });
    await plane.untilEvent('turn_ended');
    const [entry] = journalOf(place);
    expect(entry).toMatchObject({ task_id: TASK, execution_id: '1', backend: 'process' });
    expect(JSON.stringify(entry)).not.toContain(plane.token);
    for (const { argv } of processes()) expect(argv.join(' ')).not.toContain(plane.token);
    plane.want('close');
    expect((await server.untilFrame('task_completed')).data).toMatchObject({ task_id: TASK });
    await until(() => journalOf(place).length === 0, 10_000, 'the journal is empty');
    await daemon.stopCleanly();
    expect(daemon.text).not.toContain(API_KEY);
    expect(daemon.text).not.toContain(plane.token);
  });

  it('rejects tasks at capacity and ignores a repeated assignment', async () => {
    plane.assignment.prompt = waiting;
    start(['--max-concurrent-tasks', '1']);
    await server.untilFrame('hello');
    assign();
    await server.untilFrame('task_claimed');
    await atWork();
    server.assign('2', { taskId: 'another', token: 'hrx_2_x' });
    expect((await server.untilFrame('task_rejected')).data).toEqual({ task_id: 'another', reason: 'at capacity' });
    assign();
    expect((await server.untilFrame('task_claimed', 2)).data.task_id).toBe(TASK);
    expect(plane.requests.filter(({ call }) => call === 'POST /claim')).toHaveLength(1);
    server.send('{"type":"something_new","data":{}}');
    server.send('{"type":"task_cancellation","data":{}}');
    server.assign('3', { taskId: 'third', token: '' });
    expect((await server.untilFrame('task_rejected', 2)).data.task_id).toBe('third');
  });

  it('keeps its run after a lost connection, and reports an unacknowledged end again', async () => {
    plane.assignment.prompt = waiting;
    start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    server.cut();
    expect((await server.untilFrame('hello', 2)).data.tasks).toEqual([{ task_id: TASK, execution_id: '1' }]);
    expect(server.of('hello')[0]?.data.instance_id).toBe(server.of('hello')[1]?.data.instance_id);
    server.status = 503;
    server.cut();
    await server.until(() => server.upgrades.length >= 3, 'another attempt');
    plane.want('stop');
    await plane.until(() => plane.finished !== null, 'the end');
    server.status = 101;
    expect((await server.untilFrame('task_completed')).connection).toBe(server.connections - 1);
    await until(() => journalOf(place).length === 0, 10_000, 'the journal is empty');
  });

  it('supervises a running runner again after kill -9', async () => {
    plane.assignment.prompt = waiting;
    const first = start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    await first.stop('SIGKILL');
    const [entry] = journalOf(place);
    if (!entry) throw new Error('The journal is empty.');
    expect(remains(entry).length).toBeGreaterThan(1);
    start();
    expect((await server.untilFrame('hello', 2)).data).toMatchObject({
      tasks: [{ task_id: TASK, execution_id: '1' }],
      instance_id: server.of('hello')[0]?.data.instance_id,
    });
    plane.fail('POST /claim', 409);
    server.assign('2', { taskId: 'another', token: 'hrx_2_x' });
    plane.want('stop');
    await server.untilFrame('task_failed');
    await until(() => journalOf(place).length <= 1 && remains(entry).length === 0, 15_000, 'nothing is left');
    expect(plane.finished).toMatchObject({ outcome: 'cancelled' });
  });

  it.each(['unknown', 'keep'] as const)(
    'removes the files of a killed runner after kill -9 of both; verdict %s',
    async (verdict) => {
      plane.assignment.prompt = waiting;
      const first = start();
      await server.untilFrame('hello');
      assign();
      await atWork();
      await first.stop('SIGKILL');
      const [entry] = journalOf(place);
      if (!entry) throw new Error('The journal is empty.');
      process.kill((entry['handle'] as { pid: number }).pid, 'SIGKILL');
      server.verdictOf = () => verdict;
      start();
      await server.untilFrame('hello', 2);
      if (verdict === 'keep')
        expect((await server.untilFrame('task_failed')).data).toMatchObject({
          task_id: TASK,
          failure_reason: 'infrastructure_timeout',
        });
      await until(() => journalOf(place).length === 0, 10_000, 'the journal is empty');
      expect(remains(entry)).toEqual([]);
      expect(existsSync((entry['handle'] as { workspace_dir: string }).workspace_dir)).toBe(false);
      if (verdict === 'unknown') expect(server.of('task_failed')).toEqual([]);
    },
  );

  it('kills a runner whose execution the server does not know', async () => {
    plane.assignment.prompt = waiting;
    start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    const [entry] = journalOf(place);
    if (!entry) throw new Error('The journal is empty.');
    server.verdictOf = () => 'unknown';
    server.cut();
    await server.untilFrame('hello', 2);
    await until(() => journalOf(place).length === 0 && remains(entry).length === 0, 10_000, 'nothing is left');
    expect(server.of('task_failed')).toEqual([]);
    expect(server.of('task_completed')).toEqual([]);
  });

  it('drains: rejects new tasks, reports it in heartbeats, completes runs', async () => {
    plane.assignment.prompt = waiting;
    const daemon = start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    daemon.child.kill('SIGTERM');
    await server.until(() => server.of('beat').some(({ data }) => data.draining === true), 'a beat that drains');
    expect(server.of('beat').at(-1)?.data).toEqual({
      draining: true,
      free_slots: 0,
      tasks: [{ task_id: TASK, execution_id: '1' }],
    });
    server.assign('2', { taskId: 'another', token: 'hrx_2_x' });
    expect((await server.untilFrame('task_rejected')).data.reason).toBe('draining');
    plane.want('stop');
    expect(await daemon.exited).toBe(0);
    expect(server.of('task_completed')).toHaveLength(1);
    expect(journalOf(place)).toEqual([]);
  });

  it.each([
    ['a second signal', ['--drain-timeout', '10min'], true],
    ['the deadline', ['--drain-timeout', '300ms'], false],
  ])('stops running tasks after %s', async (_name, args, isTwice) => {
    plane.assignment.prompt = waiting;
    const daemon = start(args);
    await server.untilFrame('hello');
    assign();
    await atWork();
    daemon.child.kill('SIGTERM');
    await daemon.says('"msg":"draining"');
    if (isTwice) daemon.child.kill('SIGTERM');
    expect(await daemon.exited).toBe(0);
    expect(plane.finished).toMatchObject({ outcome: 'failed', error_code: 'infrastructure_timeout' });
  });

  it('stops a run that the server cancels', async () => {
    plane.assignment.prompt = waiting;
    server.nextBeatSeconds = 0.2;
    start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    const [entry] = journalOf(place);
    if (!entry) throw new Error('The journal is empty.');
    server.desiredOf = () => 'kill';
    expect((await server.untilFrame('task_completed')).data).toMatchObject({ task_id: TASK, task_state: 'CANCELLED' });
    expect(remains(entry)).toEqual([]);
  });

  it('executes one task and exits with --one-shot', async () => {
    const daemon = start(['--one-shot']);
    expect((await server.untilFrame('hello')).data.slots).toBe(1);
    assign();
    await works('');
    await plane.untilEvent('turn_ended');
    plane.want('close');
    await server.untilFrame('task_completed');
    // The double has no run that could be asked for its state: not known to have succeeded is 1.
    expect(await daemon.exited).toBe(1);
  });

  it.each([
    [401, 77, 'API key'],
    [403, 77, 'service account'],
    [400, 64, 'name'],
  ])('exits when the server returns %d', async (status, code, reported) => {
    server.status = status;
    const daemon = start();
    expect(await daemon.exited).toBe(code);
    expect(daemon.text).toContain(reported);
    expect(daemon.text).toContain('not this one');
    expect(daemon.text).not.toContain(API_KEY);
    expect(server.upgrades).toHaveLength(1);
  });

  it('waits for the turn but not for an idle session when its key is rejected', async () => {
    const released = join(place.directory, 'released');
    plane.assignment.prompt = prompt(
      'Wait.',
      fence('sh', `echo ready; until [ -e '${released}' ]; do sleep 0.1; done`),
    );
    const daemon = start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    server.status = 401;
    server.cut();
    await daemon.says('API key');
    // The runner knows by then that only running work may complete.
    await daemon.says('a runner ends when it is idle');
    writeFileSync(released, '');
    expect(await daemon.exited).toBe(77);
    expect(plane.data('turn_ended')).toMatchObject([{ stop_reason: 'end_turn' }]);
    expect(plane.finished).toMatchObject({ outcome: 'closed' });
  });

  it('ends idle sessions when its key is rejected, also those of an earlier process', async () => {
    const first = start();
    await server.untilFrame('hello');
    assign();
    await plane.untilEvent('turn_ended');
    await first.stop('SIGKILL');
    server.status = 401;
    expect(await start().exited).toBe(77);
    expect(plane.finished).toMatchObject({ outcome: 'closed' });
  });

  it('reconnects to a server that was unavailable or stopped responding', async () => {
    server.status = 503;
    start([], { HEADRACE_WORKER_CONFIG_FILE: config({ connection: { reconnect_max: '200ms' } }) });
    await server.until(() => server.upgrades.length >= 4, 'four attempts');
    server.status = 101;
    await server.untilFrame('hello');
  });

  it('uses the published protocol with a server that knows no other', async () => {
    server.knowsHello = false;
    start();
    await server.untilFrame('hello');
    assign();
    await server.untilFrame('task_claimed');
    await plane.untilEvent('turn_ended');
    plane.want('close');
    await server.untilFrame('task_completed');
    expect(server.of('beat')).toEqual([]);
  });

  it('serves metrics on loopback', async () => {
    const daemon = start(['--metrics-port', '0']);
    await server.untilFrame('hello');
    await daemon.says('metrics are served');
    const port = /"metrics are served".*?"port":(\d+)/.exec(daemon.text)?.[1] ?? '';
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toContain('headrace_worker_connected 1');
    expect(text).toContain('worker_id="host-1"');
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/else`)).status).toBe(404);
  });

  it('does not start twice in the same directory', async () => {
    start();
    await server.untilFrame('hello');
    const second = start();
    await second.says('the data directory is in use');
    expect(server.upgrades).toHaveLength(1);
    second.child.kill('SIGTERM');
    expect(await second.exited).toBe(1);
    expect(second.text).toContain('stopped while it waited for the data directory');
  });

  it.runIf(process.platform === 'linux')(
    'hides a key of its environment from other processes of its user',
    async () => {
      const daemon = start([], { HEADRACE_WORKER_API_KEY_FILE: '', WARP_API_KEY: API_KEY });
      await server.untilFrame('hello');
      expect(server.upgrades[0]?.headers.authorization).toBe(`Bearer ${API_KEY}`);
      const environment = readFileSync(`/proc/${String(daemon.child.pid)}/environ`, 'latin1');
      expect(environment).toContain('WARP_API_KEY=xxxx');
      expect(environment).not.toContain(API_KEY);
    },
  );

  const config = (values: object): string => {
    const file = join(place.directory, 'worker.yaml');
    writeFileSync(file, JSON.stringify(values));
    chmodSync(file, 0o600);
    expect(readFileSync(file, 'utf8')).not.toBe('');
    return file;
  };
});
