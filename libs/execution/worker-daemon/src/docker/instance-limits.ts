import type { TaskAssignmentData } from '#execution/worker-protocol';
import type { WorkerDocker } from './worker-docker.js';

const GIB = 1_073_741_824;

/** The operator's limits, and where a run asks for less, that. */
export function instanceLimits(docker: WorkerDocker, shape: TaskAssignmentData['instance_shape']): WorkerDocker {
  const { vcpus, memory_gb: memoryGb } = shape ?? {};
  return {
    ...docker,
    dockerCpus: isAsked(vcpus) ? Math.min(docker.dockerCpus, vcpus) : docker.dockerCpus,
    dockerMemoryBytes: isAsked(memoryGb)
      ? Math.min(docker.dockerMemoryBytes, Math.round(memoryGb * GIB))
      : docker.dockerMemoryBytes,
  };
}

const isAsked = (value: number | undefined): value is number => value !== undefined && value > 0;
