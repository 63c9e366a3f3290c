import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { BackendFault } from '../backend.js';
import { RUNNER_CONTAINER } from './pod-end.js';

const anything = z.record(z.string(), z.unknown());
const list = z.array(anything);
const labels = z.record(z.string(), z.string());

/** What operators may add to every pod. Other fields are rejected, because they would replace what isolates an execution. */
const template = z.strictObject({
  apiVersion: z.string().optional(),
  kind: z.enum(['Pod', 'PodTemplate']).optional(),
  metadata: z.strictObject({ labels: labels.optional(), annotations: labels.optional() }).optional(),
  spec: z
    .strictObject({
      nodeSelector: labels.optional(),
      tolerations: list.optional(),
      affinity: anything.optional(),
      topologySpreadConstraints: list.optional(),
      runtimeClassName: z.string().optional(),
      serviceAccountName: z.string().optional(),
      imagePullSecrets: list.optional(),
      priorityClassName: z.string().optional(),
      schedulerName: z.string().optional(),
      hostAliases: list.optional(),
      dnsPolicy: z.string().optional(),
      dnsConfig: anything.optional(),
      securityContext: z
        .strictObject({
          runAsUser: z.int().optional(),
          runAsGroup: z.int().optional(),
          runAsNonRoot: z.boolean().optional(),
          fsGroup: z.int().optional(),
          supplementalGroups: z.array(z.int()).optional(),
        })
        .optional(),
      volumes: list.optional(),
      containers: z
        .tuple([
          z.strictObject({
            name: z.literal(RUNNER_CONTAINER),
            env: list.optional(),
            imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
            resources: z.strictObject({ requests: anything.optional(), limits: anything.optional() }).optional(),
            volumeMounts: list.optional(),
          }),
        ])
        .optional(),
    })
    .optional(),
});

export type PodTemplate = z.output<typeof template>;

/** Reads a YAML or JSON file. Throws a BackendFault that names the field which cannot be used. */
export function readPodTemplate(file: string): PodTemplate {
  if (file === '') return {};
  let content: unknown;
  try {
    content = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new BackendFault(
      `The pod template ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  const result = template.safeParse(content ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`);
  throw new BackendFault(`The pod template ${file} cannot be used: ${problems.join('; ')}`);
}
