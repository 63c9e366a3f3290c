import type { V1ContainerState, V1Pod } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { RUNNER_EXIT } from '#execution/runner';
import { hasStarted, podEnd, waitingReason } from './pod-end.js';

const CONTEXT = { image: 'tools:1', memoryBytes: 512 * 1_048_576 };
const common = { restartCount: 0, ready: false, image: 'tools:1', imageID: '' };
const podWith = (state: V1ContainerState, status: V1Pod['status'] = {}): V1Pod => ({
  status: { phase: 'Running', containerStatuses: [{ ...common, name: 'runner', state }], ...status },
});
const exited = (exitCode: number, reason = 'Error', message?: string) =>
  podWith({ terminated: { exitCode, reason, ...(message === undefined ? {} : { message }) } });
const waits = (reason: string, message?: string) =>
  podWith({ waiting: { reason, ...(message === undefined ? {} : { message }) } });

describe('podEnd', () => {
  it.each([
    ['a runner that has reported', exited(RUNNER_EXIT.reported, 'Completed'), { kind: 'exited', code: 0 }],
    ['another process without memory after the report', exited(0, 'OOMKilled'), { kind: 'exited', code: 0 }],
    [
      'a pod without memory',
      exited(137, 'OOMKilled'),
      { kind: 'agent_failed', message: expect.stringContaining('512 MiB') },
    ],
    [
      'an image without glibc',
      exited(127),
      { kind: 'setup_failed', message: expect.stringContaining('tools:1 cannot run') },
    ],
    ['an image without a loader', exited(128, 'StartError', 'no such file'), { kind: 'setup_failed', exitCode: 128 }],
    [
      'an image without a loader, as some runtimes report it',
      exited(1, 'Error', 'exec /opt/headrace/bin/node: no such file or directory'),
      { kind: 'setup_failed', exitCode: 1 },
    ],
    ['a lost node', exited(137, 'ContainerStatusUnknown'), { kind: 'vanished', reason: 'pod_lost' }],
    ['any other exit', exited(75), { kind: 'exited', code: 75 }],
    [
      'a lost runner whose log names a missing file',
      exited(75, 'Error', '{"execution_id":"1","msg":"ENOENT: no such file or directory"}'),
      { kind: 'exited', code: 75 },
    ],
    [
      'an image that cannot be pulled',
      waits('ImagePullBackOff', 'not found'),
      { kind: 'setup_failed', message: expect.stringContaining('not found') },
    ],
    ['an invalid name of an image', waits('InvalidImageName'), { kind: 'setup_failed' }],
    [
      'an unknown user of an image',
      waits('CreateContainerConfigError', 'no user'),
      { kind: 'setup_failed', message: expect.stringContaining('no user') },
    ],
  ] as const)('recognizes %s', (_case, pod, end) => {
    expect(podEnd(pod, CONTEXT)).toMatchObject(end);
  });

  it.each([
    ['The node was low on resource: memory.', { kind: 'vanished', reason: 'pod_evicted' }],
    ['Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.', { kind: 'agent_failed' }],
    ['Usage of EmptyDir volume "headrace-home" exceeds the limit "1Gi".', { kind: 'agent_failed' }],
  ])('recognizes an eviction: %s', (message, end) => {
    const evicted = { phase: 'Failed', reason: 'Evicted', message };
    expect(podEnd({ status: evicted }, CONTEXT)).toMatchObject(end);
    expect(podEnd(podWith({ terminated: { exitCode: 137 } }, evicted), CONTEXT)).toMatchObject(end);
  });

  it('recognizes files of the runner that could not be copied, and an image of the runner that does not exist', () => {
    const prepare = (state: V1ContainerState): V1Pod => ({
      status: { phase: 'Pending', initContainerStatuses: [{ ...common, image: 'headrace:1', name: 'prepare', state }] },
    });
    for (const state of [{ terminated: { exitCode: 1, reason: 'Error' } }, { waiting: { reason: 'ImagePullBackOff' } }])
      expect(podEnd(prepare(state), CONTEXT)).toMatchObject({
        kind: 'vanished',
        hint: expect.stringContaining('KUBERNETES_RUNNER_IMAGE'),
      });
  });

  it.each([
    ['runs', podWith({ running: {} })],
    ['waits for its volumes', waits('ContainerCreating')],
    ['waits for its init container', waits('PodInitializing')],
    ['pulls its image again', waits('ErrImagePull', 'timeout')],
    ['was just created', { status: { phase: 'Pending' } }],
  ])('is null for a pod that %s', (_case, pod) => {
    expect(podEnd(pod, CONTEXT)).toBeNull();
  });
});

describe('hasStarted', () => {
  it('is true once the container of the runner runs or has ended', () => {
    expect(hasStarted(podWith({ running: {} }))).toBe(true);
    expect(hasStarted(exited(1))).toBe(true);
    expect(hasStarted(waits('PodInitializing'))).toBe(false);
    expect(hasStarted({})).toBe(false);
  });
});

describe('waitingReason', () => {
  it('quotes the scheduler, else the container, else says what is known', () => {
    const message = '0/3 nodes are available: 3 Insufficient cpu.';
    const conditions = [{ type: 'PodScheduled', status: 'False', message }];
    expect(waitingReason({ status: { conditions } })).toBe(message);
    expect(waitingReason(waits('ErrImagePull', 'timeout'))).toBe('timeout');
    expect(waitingReason(waits('ContainerCreating'))).toBe('its containers were not started');
    expect(waitingReason(null)).toBe('the pod does not exist');
  });
});
