import type { V1Pod, V1PodSpec, V1Secret } from '@kubernetes/client-node';
import type { RunnerHandover } from '#execution/runner-protocol';
import { PROGRAM } from '#platform/kernel';
import { PREPARE_CONTAINER, RUNNER_CONTAINER } from './pod-end.js';
import type { PodTemplate } from './pod-template.js';

const RUNNER_DIRECTORY = '/opt/headrace';
/** Of the pod, so that a workspace ends with it. */
const HOME_DIRECTORY = '/headrace';
export const WORKSPACE = `${HOME_DIRECTORY}/workspace`;
/** In memory, and removed by the runner when it has read it. */
const HANDOVER_DIRECTORY = '/run/headrace';
const HANDOVER_KEY = 'handover.json';
const SECRET_DIRECTORY = '/run/headrace-secret';
/** Agents wait for their models most of the time. */
const MAX_REQUESTED_CPUS = 0.5;
/** Of the installation a runner needs no packages, which are most of its size. */
const COPY_RUNNER = [
  'mkdir -p /runner/dist',
  `cp -R ${RUNNER_DIRECTORY}/bin ${RUNNER_DIRECTORY}/package.json /runner`,
  `cp -R ${RUNNER_DIRECTORY}/dist/headrace.cjs ${RUNNER_DIRECTORY}/dist/chunks /runner/dist`,
  `cp ${SECRET_DIRECTORY}/${HANDOVER_KEY} /handover`,
].join(' && ');
/** Time for a runner to end after SIGTERM; it reports the end of its execution by then. */
const GRACE_SECONDS = 15;

export interface PodOptions {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly runnerImage: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** 0: no limit. */
  readonly diskBytes: number;
  readonly template: PodTemplate;
}

/** The pod of one execution. It contains no secret: its hand-over is in a Secret, which is removed when the runner has it. */
export function podSpecification(options: PodOptions): V1Pod {
  const { name, labels, image, runnerImage, cpus, memoryBytes, diskBytes, template } = options;
  const { metadata, spec } = template;
  const [runner] = spec?.containers ?? [];
  const { containers: _containers, volumes = [], securityContext, ...placement } = spec ?? {};
  const confined = { allowPrivilegeEscalation: false, privileged: false, capabilities: { drop: ['ALL'] } };
  const limits = {
    cpu: String(cpus),
    memory: String(memoryBytes),
    ...(diskBytes === 0 ? {} : { 'ephemeral-storage': String(diskBytes) }),
  };
  const own = runner?.resources as { limits?: Record<string, string>; requests?: Record<string, string> } | undefined;
  const resources = {
    limits: { ...limits, ...own?.limits },
    // Not more than the limits of the template.
    requests: { ...limits, cpu: String(Math.min(cpus, MAX_REQUESTED_CPUS)), ...own?.limits, ...own?.requests },
  };
  const imagePullPolicy = runner?.imagePullPolicy === undefined ? {} : { imagePullPolicy: runner.imagePullPolicy };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name, labels: { ...metadata?.labels, ...labels } },
    spec: {
      // The cluster validates it.
      ...(placement as Partial<V1PodSpec>),
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // Orphaned processes of agents are reaped by the pause container.
      shareProcessNamespace: true,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      securityContext: { ...securityContext, seccompProfile: { type: 'RuntimeDefault' } },
      initContainers: [
        {
          name: PREPARE_CONTAINER,
          image: runnerImage,
          ...imagePullPolicy,
          command: ['sh', '-c', COPY_RUNNER],
          resources,
          securityContext: confined,
          volumeMounts: [
            { name: 'headrace-runner', mountPath: '/runner' },
            { name: 'headrace-handover', mountPath: '/handover' },
            { name: 'headrace-secret', mountPath: SECRET_DIRECTORY, readOnly: true },
          ],
        },
      ],
      containers: [
        {
          name: RUNNER_CONTAINER,
          image,
          ...imagePullPolicy,
          command: [
            ...[`${RUNNER_DIRECTORY}/bin/node`, `${RUNNER_DIRECTORY}/${PROGRAM}`],
            ...['agent', 'run', '--handover', `${HANDOVER_DIRECTORY}/${HANDOVER_KEY}`],
          ],
          workingDir: '/',
          // The end of its output says why a program could not be started.
          terminationMessagePolicy: 'FallbackToLogsOnError',
          env: [
            ...((runner?.env ?? []) as { name: string }[]),
            { name: 'NODE_ENV', value: 'production' },
            { name: 'NODE_OPTIONS', value: '' },
          ],
          resources,
          securityContext: confined,
          volumeMounts: [
            ...((runner?.volumeMounts ?? []) as { name: string; mountPath: string }[]),
            { name: 'headrace-runner', mountPath: RUNNER_DIRECTORY, readOnly: true },
            { name: 'headrace-home', mountPath: HOME_DIRECTORY },
            { name: 'headrace-handover', mountPath: HANDOVER_DIRECTORY },
          ],
        },
      ],
      volumes: [
        ...(volumes as { name: string }[]),
        { name: 'headrace-runner', emptyDir: {} },
        { name: 'headrace-home', emptyDir: diskBytes === 0 ? {} : { sizeLimit: String(diskBytes) } },
        { name: 'headrace-handover', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        // Not optional: the kubelet waits for it, so the execution begins when the hand-over is passed.
        { name: 'headrace-secret', secret: { secretName: name } },
      ],
    },
  };
}

/** Owned by the pod: the cluster removes it with the pod if this process cannot. */
export function handoverSecret(pod: V1Pod, handover: RunnerHandover): V1Secret {
  const { name = '', uid = '', labels = {} } = pod.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, labels, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
    stringData: { [HANDOVER_KEY]: `${JSON.stringify(handover)}\n` },
  };
}
