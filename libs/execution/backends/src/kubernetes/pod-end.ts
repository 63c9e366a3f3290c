import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { RUNNER_EXIT } from '#execution/runner';
import type { TaskEnd } from '../backend.js';
import { incompatibleImageMessage } from '../docker/container-exit.js';

export const RUNNER_CONTAINER = 'runner';
export const PREPARE_CONTAINER = 'prepare';

/** Reasons why a container waits that do not pass by themselves. ErrImagePull is followed by ImagePullBackOff. */
const IMAGE_REASONS = [
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
];
const CONFIG_REASONS = ['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'];
/** Exit codes of a container runtime for a program that cannot be started. */
const NOT_STARTED = [126, 127, 128];
/** What some runtimes print, with exit code 1. A log of a runner has no such line. */
const NO_LOADER = /^(?:exec \/opt\/headrace\/\S+: |standard_init_linux\.go:\d+: exec )/m;
const MIB = 1_048_576;

export interface PodContext {
  /** As the run names it. */
  readonly image: string;
  readonly memoryBytes: number;
}

/** Whether the runner has been started. */
export function hasStarted(pod: V1Pod): boolean {
  const state = statusOf(pod, RUNNER_CONTAINER)?.state;
  return state?.running !== undefined || state?.terminated !== undefined;
}

/** The end of the execution, as far as the state of its pod says it; null while the pod may still execute it. */
export function podEnd(pod: V1Pod, context: PodContext): TaskEnd | null {
  return terminatedEnd(pod, context) ?? failedPodEnd(pod) ?? waitingEnd(pod, context);
}

/** Why a pod that does not run yet waits, for the message of a run that was not started in time. */
export function waitingReason(pod: V1Pod | null): string {
  if (pod === null) return 'the pod does not exist';
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') return scheduled.message ?? 'no node was chosen';
  for (const { state } of statusesOf(pod)) {
    const { reason, message } = state?.waiting ?? {};
    if (reason !== undefined && reason !== 'PodInitializing' && reason !== 'ContainerCreating')
      return message ?? reason;
  }
  return 'its containers were not started';
}

function terminatedEnd(pod: V1Pod, { image, memoryBytes }: PodContext): TaskEnd | null {
  const prepared = statusOf(pod, PREPARE_CONTAINER)?.state?.terminated;
  if (prepared !== undefined && prepared.exitCode !== 0)
    return vanished(
      'runner_not_prepared',
      `The files of the runner could not be copied: ${prepared.message ?? prepared.reason ?? prepared.exitCode}.`,
      'Check KUBERNETES_RUNNER_IMAGE.',
    );
  const terminated = statusOf(pod, RUNNER_CONTAINER)?.state?.terminated;
  if (terminated === undefined) return null;
  const { exitCode, reason, message } = terminated;
  // The runner has reported the end, even if another process of the pod ran out of memory.
  if (exitCode === RUNNER_EXIT.reported) return { kind: 'exited', code: exitCode, signal: null };
  if (reason === 'OOMKilled') {
    const text = `The run’s pod exceeded its ${Math.round(memoryBytes / MIB)} MiB of memory and was killed.`;
    return { kind: 'agent_failed', message: text, exitCode };
  }
  // The kubelet does not know it any more, for example after the loss of its node.
  if (reason === 'ContainerStatusUnknown') return vanished('pod_lost', message ?? 'The state of the pod is not known.');
  const eviction = evicted(pod);
  if (eviction !== null) return eviction;
  if (NOT_STARTED.includes(exitCode) || (exitCode === 1 && NO_LOADER.test(message ?? '')))
    return setupFailed(incompatibleImageMessage(image, message ?? '', 'node'), exitCode);
  return { kind: 'exited', code: exitCode, signal: null };
}

function failedPodEnd(pod: V1Pod): TaskEnd | null {
  if (pod.status?.phase !== 'Failed') return null;
  return (
    evicted(pod) ??
    vanished('pod_failed', `The pod failed: ${pod.status.message ?? pod.status.reason ?? 'no reason is known'}.`)
  );
}

/** The kubelet evicts pods of a node that has too little memory or disk, and those that exceed their own limit of storage. */
function evicted({ status }: V1Pod): TaskEnd | null {
  if (status?.reason !== 'Evicted') return null;
  const message = status.message ?? '';
  if (/ephemeral local storage usage exceeds|exceeds the limit/i.test(message))
    return { kind: 'agent_failed', message: `The run’s pod exceeded its storage limit: ${message}`, exitCode: 137 };
  return vanished('pod_evicted', `The pod was evicted from its node: ${message}`);
}

function waitingEnd(pod: V1Pod, { image }: PodContext): TaskEnd | null {
  for (const { name, state, image: found } of statusesOf(pod)) {
    const { reason = '', message = '' } = state?.waiting ?? {};
    if (name === PREPARE_CONTAINER && IMAGE_REASONS.includes(reason))
      return vanished(
        'runner_image_unavailable',
        `The image of the runner, ${found}, could not be pulled: ${message || reason}`,
        'Check KUBERNETES_RUNNER_IMAGE.',
      );
    if (name === PREPARE_CONTAINER && CONFIG_REASONS.includes(reason))
      return vanished('runner_not_prepared', `The files of the runner could not be copied: ${message || reason}`);
    if (IMAGE_REASONS.includes(reason))
      return setupFailed(`The image ${image} could not be pulled: ${message || reason}`);
    if (CONFIG_REASONS.includes(reason))
      return setupFailed(`The image ${image} could not be started: ${message || reason}`);
  }
  return null;
}

const statusesOf = ({ status }: V1Pod): V1ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

const statusOf = (pod: V1Pod, container: string): V1ContainerStatus | undefined =>
  statusesOf(pod).find(({ name }) => name === container);

const setupFailed = (message: string, exitCode?: number): TaskEnd =>
  exitCode === undefined ? { kind: 'setup_failed', message } : { kind: 'setup_failed', message, exitCode };

const vanished = (reason: string, message: string, hint?: string): TaskEnd => ({
  kind: 'vanished',
  reason,
  message,
  hint,
});
