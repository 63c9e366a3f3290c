import { beforeAll, expect, it } from 'vitest';
import { backendConformance } from '#testing';
import { marker, testDockerBackend } from '../support/test-backends.js';
import { ControlPlaneDouble } from '#testing';
import { fence, prompt } from '../runner/runner-process.js';
import { until } from '../support/installation.js';
import { daemonPlace, removePlace, startDaemon } from '../worker/daemon-process.js';
import { TASK, taskAssignment, WorkerServer } from '../worker/worker-server.js';
import { engine } from './docker-installation.js';
import { BRIDGE_ADDRESS } from './engine.js';
import { BASE_IMAGE, imageOf } from './images.js';

backendConformance('docker, on a real engine:', {
  host: BRIDGE_ADDRESS,
  origin: ({ origin }) => origin,
  marker,
  leftovers: () => engine.leftovers(),
  create: (installationKey) =>
    Promise.resolve(
      testDockerBackend(engine.socket, installationKey, { dockerPull: 'never', dockerDefaultImage: BASE_IMAGE }),
    ),
});

let plane: ControlPlaneDouble;
let server: WorkerServer;

beforeAll(async () => {
  [plane, server] = await Promise.all([ControlPlaneDouble.start({}, BRIDGE_ADDRESS), WorkerServer.start()]);
  return () => Promise.all([plane.stop(), server.stop()]);
});

it('executes tasks of headrace worker, also over a kill of the worker', async () => {
  const place = daemonPlace();
  const start = () =>
    startDaemon(
      place,
      ['--web-socket-url', server.url, '--server-root-url', new URL(plane.baseUrl).origin, '--backend', 'docker'],
      { DOCKER_HOST: engine.host, DOCKER_PULL: 'never' },
    );
  plane.assignment.prompt = prompt(fence('sh', 'echo "agent $TOOLCHAIN at work"; sleep 5'));
  let daemon = start();
  try {
    await server.untilFrame('hello');
    server.send(taskAssignment(plane.token, { docker_image: imageOf('special') }));
    await plane.until(() => JSON.stringify(plane.calls()).includes('agent stable-9 at work'), 'the work of the agent');
    await daemon.stop('SIGKILL');
    daemon = start();
    await daemon.says('a runner is supervised again');
    await plane.untilEvent('turn_ended');
    plane.want('close');
    expect((await server.untilFrame('task_completed')).data).toMatchObject({ task_id: TASK });
    await until(async () => (await engine.leftovers()).length === 0, 30_000, 'the removal of the container');
  } finally {
    await daemon.stop('SIGTERM');
    removePlace(place);
  }
});
