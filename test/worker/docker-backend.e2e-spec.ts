import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlPlaneDouble } from '#testing';
import { fence, prompt } from '../runner/runner-process.js';
import { DockerEngineDouble } from '../support/docker-engine-double.js';
import { type Program, until } from '../support/installation.js';
import { type DaemonPlace, daemonPlace, journalOf, removePlace, startDaemon } from './daemon-process.js';
import { TASK, taskAssignment, WorkerServer } from './worker-server.js';

describe('headrace worker --backend docker', { timeout: 120_000 }, () => {
  let server: WorkerServer;
  let plane: ControlPlaneDouble;
  let engine: DockerEngineDouble;
  let place: DaemonPlace;
  let daemons: Program[];

  beforeEach(async () => {
    server = await WorkerServer.start();
    plane = await ControlPlaneDouble.start({ prompt: prompt(fence('sh', 'echo "$TOOLCHAIN, $OPERATOR, in $PWD"')) });
    engine = new DockerEngineDouble();
    engine.images.set('node:22-bookworm', {});
    engine.images.set('tools:1', { env: ['TOOLCHAIN=stable-9'] });
    await engine.up();
    place = daemonPlace();
    daemons = [];
  });
  afterEach(async () => {
    for (const daemon of daemons) await daemon.stop('SIGKILL');
    await Promise.all([server.stop(), plane.stop(), engine.close()]);
    removePlace(place);
  });

  const start = (args: string[] = [], environment: Record<string, string> = {}): Program => {
    const root = `http://host.docker.internal:${new URL(plane.baseUrl).port}`;
    const addresses = ['--web-socket-url', server.url, '--server-root-url', root, '--backend', 'docker'];
    const daemon = startDaemon(place, [...addresses, ...args], { DOCKER_HOST: engine.host, ...environment });
    daemons.push(daemon);
    return daemon;
  };
  const assign = (more: object = {}): void => server.send(taskAssignment(plane.token, more));
  const atWork = (): Promise<void> =>
    plane.until(() => JSON.stringify(plane.calls()).includes('ready\\n'), 'the agent works');
  const waiting = fence('sh', 'echo ready; sleep 300');
  const created = () => JSON.parse(engine.asked.findLast(({ path }) => path === '/containers/create')?.body ?? '{}');
  const isEmpty = () => until(() => engine.containers.size === 0, 20_000, 'the removal of the container');

  it('executes a task in an unprivileged container of its image and passes no secret to the engine', async () => {
    const environment = { DOCKER_NETWORK: 'agents', DOCKER_RUNTIME: 'runc' };
    start(['--env', 'OPERATOR=op', '--volumes', `${place.directory}:/shared:ro`], environment);
    expect((await server.untilFrame('hello')).data).toMatchObject({ backend: 'docker' });
    assign({ docker_image: 'tools:1', instance_shape: { vcpus: 1, memory_gb: 1 } });
    await plane.until(() => JSON.stringify(plane.calls()).includes('stable-9, op, in'), 'the agent in its image');
    plane.want('close');
    expect((await server.untilFrame('task_completed')).data).toMatchObject({ task_id: TASK });
    await isEmpty();
    expect(created()).toMatchObject({
      Image: 'sha256:tools:1',
      Labels: { 'io.headrace.execution': '1' },
      HostConfig: {
        Runtime: 'runc',
        Privileged: false,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        NetworkMode: 'agents',
        Memory: 1_073_741_824,
        NanoCpus: 1e9,
        PidsLimit: 1024,
        Binds: [`${place.directory}:/shared:ro`],
      },
    });
    const asked = engine.asked.map(({ path, query, body }) => `${path}?${query.toString()} ${body}`).join('\n');
    expect(asked).not.toContain(plane.token);
    expect(engine.handedOver.join('')).toContain(plane.token);
  });

  it('uses the default image without an image of the run, and lower limits than the run requests', async () => {
    start();
    await server.untilFrame('hello');
    assign({ instance_shape: { vcpus: 64, memory_gb: 512 } });
    await plane.untilEvent('turn_ended');
    expect(created()).toMatchObject({
      Image: 'sha256:node:22-bookworm',
      HostConfig: { Memory: 4096 * 1_048_576, NanoCpus: 2e9 },
    });
    plane.want('close');
    await server.untilFrame('task_completed');
  });

  it.each([
    ['nobody/has-it:1', /The image nobody\/has-it:1 could not be pulled: pull access denied/],
    ['not an image', /is not a valid Docker image name/],
    ['alpine:3', /alpine:3 cannot run Headrace’s runner/],
  ])('fails the task whose image is %s, and leaves nothing behind', async (image, message) => {
    engine.images.set('alpine:3', { isMusl: true });
    start();
    await server.untilFrame('hello');
    assign({ docker_image: image });
    const { data } = await server.untilFrame('task_failed');
    expect(data).toMatchObject({ failure_reason: 'environment_setup_failed' });
    expect(data.message).toMatch(message);
    await isEmpty();
  });

  it('reports a container that ran out of memory', async () => {
    plane.assignment.prompt = waiting;
    start();
    await server.untilFrame('hello');
    assign({ instance_shape: { memory_gb: 2 } });
    await atWork();
    const [container] = engine.running;
    if (container) engine.runOutOfMemory(container);
    expect((await server.untilFrame('task_failed')).data).toMatchObject({
      failure_reason: 'agent_process_failed',
      exit_code: 137,
      message: expect.stringContaining('2048 MiB of memory'),
    });
  });

  it('kills the container of an execution that the server gives up', async () => {
    plane.assignment.prompt = waiting;
    server.nextBeatSeconds = 1;
    start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    server.desiredOf = () => 'kill';
    await server.untilFrame('task_completed');
    await isEmpty();
    expect(journalOf(place).length).toBeLessThanOrEqual(1);
  });

  it('ends the idle session of a container when its key is rejected', async () => {
    const daemon = start();
    await server.untilFrame('hello');
    assign();
    await plane.untilEvent('turn_ended');
    server.status = 401;
    server.cut();
    expect(await daemon.exited).toBe(77);
    expect(plane.finished).toMatchObject({ outcome: 'closed' });
    expect(engine.containers.size).toBe(0);
  });

  it('finds its container again after kill -9 of the daemon', async () => {
    plane.assignment.prompt = waiting;
    const first = start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    await first.stop('SIGKILL');
    expect(engine.running).toHaveLength(1);
    start();
    const { data } = await server.untilFrame('hello', 2);
    expect(data.tasks).toEqual([{ task_id: TASK, execution_id: '1' }]);
    plane.want('stop');
    await server.untilFrame('task_completed');
    await isEmpty();
  });

  it('reports how a container ended while the daemon was not running', async () => {
    const first = start();
    await server.untilFrame('hello');
    assign();
    await plane.untilEvent('turn_ended');
    await first.stop('SIGKILL');
    plane.want('close');
    await until(() => engine.running.length === 0, 20_000, 'the end of the container');
    start();
    await server.untilFrame('task_completed');
    await isEmpty();
  });

  it('survives a restart of the engine', async () => {
    plane.assignment.prompt = prompt(
      fence('sh', `echo ready; while [ ! -e ${place.directory}/go ]; do sleep 0.2; done`),
    );
    start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    await engine.down();
    await engine.up();
    plane.want('close');
    writeFileSync(join(place.directory, 'go'), '');
    await server.untilFrame('task_completed', 1, 30_000);
    await isEmpty();
  });

  it('keeps the container with --no-cleanup', async () => {
    start(['--no-cleanup']);
    await server.untilFrame('hello');
    assign();
    await plane.untilEvent('turn_ended');
    plane.want('close');
    await server.untilFrame('task_completed');
    expect([...engine.containers.values()].map(({ state }) => state)).toEqual(['exited']);
  });

  it.each([
    [['--server-root-url', 'http://127.0.0.1:3000'], {}, 'is the container itself'],
    [[], { DOCKER_HOST: 'unix:///nowhere/docker.sock' }, 'No Docker Engine answers'],
    [[], { DOCKER_HOST: 'nowhere' }, 'must be unix:///path of a socket'],
    [[], { DOCKER_NETWORK: 'host' }, 'must not be none, host or default'],
    [['--volumes', 'nonsense'], {}, 'must be host:container'],
  ])('does not start with %j %j', async (args, environment, message) => {
    const daemon = start(args, environment);
    expect(await daemon.exited).not.toBe(0);
    expect(daemon.text).toContain(message);
  });
});
