import { z } from 'zod';
import type { KubernetesBackendOptions } from '#execution/backends';
import { durationField, integerField, numberField } from './fields.js';

const MIB = 1_048_576;

export type WorkerKubernetes = Omit<KubernetesBackendOptions, 'installationKey'> & { readonly apiOrigin: string };

export const kubernetesKeys = {
  server_root_url: z.url({ protocol: /^https?$/ }).optional(),
  kubeconfig: z.string().default(''),
  namespace: z.string().default(''),
  default_image: z.string().min(1).default('node:22-bookworm'),
  runner_image: z.string().default(''),
  cpus: numberField(0.1, 4096).default(2),
  memory_bytes: integerField(256 * MIB, Number.MAX_SAFE_INTEGER).default(4096 * MIB),
  disk_bytes: integerField(0, Number.MAX_SAFE_INTEGER).default(0),
  pod_template: z.string().default(''),
  start_timeout: durationField('10min', '1s', '6h'),
};

type KubernetesSection = z.output<z.ZodObject<typeof kubernetesKeys>>;

export function workerKubernetes(section: KubernetesSection, serverRootUrl: string): WorkerKubernetes {
  return {
    kubeconfig: section.kubeconfig,
    kubernetesNamespace: section.namespace,
    kubernetesDefaultImage: section.default_image,
    kubernetesRunnerImage: section.runner_image,
    kubernetesCpus: section.cpus,
    kubernetesMemoryBytes: section.memory_bytes,
    kubernetesDiskBytes: section.disk_bytes,
    kubernetesPodTemplate: section.pod_template,
    kubernetesStartTimeout: section.start_timeout,
    apiOrigin: (section.server_root_url ?? serverRootUrl).replace(/\/+$/, ''),
  };
}
