import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlPlaneDouble } from '#testing';
import { fence, prompt } from '../runner/runner-process.js';
import { type Program, until } from '../support/installation.js';
import { KubernetesDouble, POD_HOST } from '../support/kubernetes-double.js';
import { type DaemonPlace, daemonPlace, journalOf, removePlace, startDaemon } from './daemon-process.js';
import { TASK, taskAssignment, WorkerServer } from './worker-server.js';

describe('headrace worker --backend kubernetes', { timeout: 120_000 }, () => {
  let server: WorkerServer;
  let plane: ControlPlaneDouble;
  let cluster: KubernetesDouble;
  let place: DaemonPlace;
  let daemons: Program[];

  beforeEach(async () => {
    server = await WorkerServer.start();
    plane = await ControlPlaneDouble.start({ prompt: prompt(fence('sh', 'echo ready; sleep 300')) });
    cluster = new KubernetesDouble();
    cluster.images.set('tools:1', 'present');
    await cluster.up();
    place = daemonPlace();
    daemons = [];
  });
  afterEach(async () => {
    for (const daemon of daemons) await daemon.stop('SIGKILL');
    await Promise.all([server.stop(), plane.stop(), cluster.close()]);
    removePlace(place);
  });

  const start = (kubernetes: object = {}): Program => {
    const options = {
      kubeconfig: cluster.kubeconfig,
      runner_image: 'headrace:test',
      server_root_url: `http://${POD_HOST}:${new URL(plane.baseUrl).port}`,
      ...kubernetes,
    };
    const file = join(place.directory, 'worker.json');
    writeFileSync(file, JSON.stringify({ backend: { kubernetes: options } }));
    const daemon = startDaemon(place, ['--web-socket-url', server.url, '--config-file', file]);
    daemons.push(daemon);
    return daemon;
  };
  const assign = (more: object = {}): void =>
    server.send(taskAssignment(plane.token, { docker_image: 'tools:1', ...more }));
  const atWork = (): Promise<void> =>
    plane.until(() => JSON.stringify(plane.calls()).includes('ready\\n'), 'the agent works');
  const isEmpty = () =>
    until(() => cluster.pods.size + cluster.secrets.size === 0, 20_000, 'the removal of the pod and its Secret');

  it('executes a task in a pod of its image, with the limits that the task requests', async () => {
    plane.assignment.prompt = prompt(fence('sh', 'echo done'));
    start();
    expect((await server.untilFrame('hello')).data).toMatchObject({ backend: 'kubernetes' });
    assign({ instance_shape: { vcpus: 1, memory_gb: 1 } });
    await plane.untilEvent('turn_ended');
    const [pod] = cluster.pods.values();
    expect(pod?.spec?.containers).toMatchObject([
      { image: 'tools:1', resources: { limits: { cpu: '1', memory: String(1024 ** 3) } } },
    ]);
    plane.want('close');
    expect((await server.untilFrame('task_completed')).data).toMatchObject({ task_id: TASK });
    await isEmpty();
  });

  it('finds its pod again after kill -9 of the daemon', async () => {
    const first = start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    await first.stop('SIGKILL');
    expect(journalOf(place)).toMatchObject([{ backend: 'kubernetes', handle: { image: 'tools:1' } }]);
    start();
    const { data } = await server.untilFrame('hello', 2);
    expect(data.tasks).toEqual([{ task_id: TASK, execution_id: '1' }]);
    plane.want('stop');
    await server.untilFrame('task_completed');
    await isEmpty();
  });

  it('reports a pod that ended while the daemon was not running', async () => {
    plane.assignment.prompt = prompt(fence('sh', 'echo ready'));
    const first = start();
    await server.untilFrame('hello');
    assign();
    await plane.untilEvent('turn_ended');
    await first.stop('SIGKILL');
    plane.want('close');
    await until(() => cluster.runnerPids.length === 0, 20_000, 'the end of the pod');
    start();
    await server.untilFrame('task_completed');
    await isEmpty();
  });

  it('kills the pod of an execution that the server gives up', async () => {
    server.nextBeatSeconds = 1;
    start();
    await server.untilFrame('hello');
    assign();
    await atWork();
    server.desiredOf = () => 'kill';
    await server.untilFrame('task_completed');
    await isEmpty();
  });

  it('fails a task whose image cannot be pulled', async () => {
    start();
    await server.untilFrame('hello');
    assign({ docker_image: 'nobody/has-it:1' });
    const { data } = await server.untilFrame('task_failed');
    expect(data).toMatchObject({ failure_reason: 'environment_setup_failed' });
    expect(data.message).toContain('nobody/has-it:1 could not be pulled');
    await isEmpty();
  });

  it.each([
    [{ server_root_url: 'http://127.0.0.1:3000' }, 'is the container itself'],
    [{ runner_image: '' }, 'runner_image of a worker) is missing'],
    [{ kubeconfig: '/nowhere' }, 'The kubeconfig file cannot be used'],
    [{ pod_template: '/nowhere' }, 'The pod template /nowhere cannot be read'],
    [{ replicas: 3 }, 'replicas'],
  ])('does not start with %j', async (options, message) => {
    const daemon = start(options);
    expect(await daemon.exited).not.toBe(0);
    expect(daemon.text).toContain(message);
  });

  it('does not start while no API server answers', async () => {
    await cluster.down();
    const daemon = start();
    expect(await daemon.exited).not.toBe(0);
    expect(daemon.text).toContain('No Kubernetes API answers');
  });
});
