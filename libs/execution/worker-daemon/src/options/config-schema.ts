import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { parseUrl } from '#platform/kernel';
import { LOG_LEVELS } from '#execution/runner';
import { workerNameFault } from '#execution/worker-protocol';
import { dockerKeys } from './docker-options.js';
import { durationField, integerField } from './fields.js';
import { kubernetesKeys } from './kubernetes-options.js';

/** Limit of the tasks in one frame, and therefore of concurrent tasks. */
const MAX_TASKS = 1_000;
const MIB = 1_048_576;

const integer = (fallback: number, min: number, max: number) => integerField(min, max).default(fallback);
const path = z.string().min(1);
const url = (...protocols: string[]) =>
  z.string().refine(
    (value) => {
      const parsed = parseUrl(value);
      if (parsed === null) return false;
      const { protocol, username, password, hash } = parsed;
      return protocols.includes(protocol) && username + password + hash === '';
    },
    `must be a URL that starts with ${protocols.join('// or ')}//, without user, password and fragment`,
  );
const environment = z
  .array(z.strictObject({ name: z.string().regex(/^[^=\s\0]+$/), value: z.string().optional() }))
  .default([])
  .transform((entries) =>
    Object.fromEntries(
      entries.flatMap(({ name, value = process.env[name] }) => (value === undefined ? [] : [[name, value] as const])),
    ),
  );
const never = (instead: string) =>
  z
    .unknown()
    .optional()
    .refine((value) => value === undefined, `is not supported; ${instead}`);
const SETUP = 'use the set-up commands of the environment of the runs';

const processBackend = z.strictObject({
  workspace_root: z.string().default(''),
  agent_uid_base: integer(0, 0, 2_000_000_000),
  agent_uid_count: integer(50_000, 1, 1_000_000),
  environment,
  /** Accepted and ignored: the only runner is that of Headrace. */
  oz_path: z.string().optional(),
  setup_command: never(SETUP),
  teardown_command: never(SETUP),
  target_dir: never('each run has a separate workspace'),
});

const dockerBackend = z.strictObject({ ...dockerKeys, environment });
const kubernetesBackend = z.strictObject({ ...kubernetesKeys, environment });

/** The configuration file: the keys of the published daemon and more. Flags and variables are merged into it. */
export const configSchema = z.strictObject({
  worker_id: z.string({ error: 'is missing; set it with --worker-id' }).superRefine((value, context) => {
    const fault = workerNameFault(value);
    if (fault === null) return;
    const detail =
      fault.kind === 'unfit' ? fault.detail : fault.kind === 'reserved' ? 'must not begin with "warp"' : 'is missing';
    context.addIssue({ code: 'custom', message: detail });
  }),
  server_root_url: url('http:', 'https:').optional(),
  web_socket_url: url('ws:', 'wss:').optional(),
  api_key_file: path.optional(),
  data_dir: path.optional(),
  log_level: z.enum(LOG_LEVELS).default('info'),
  cleanup: z.boolean().default(true),
  max_concurrent_tasks: integer(availableParallelism(), 0, MAX_TASKS).transform((value) => value || MAX_TASKS),
  /** Accepted and ignored: the server decides for each run. */
  idle_on_complete: z.string().optional(),
  drain_timeout: durationField('30min', '0s', '7d'),
  one_shot: z.boolean().default(false),
  metrics_port: integerField(0, 65_535).optional(),
  metrics_host: z.string().min(1).default('127.0.0.1'),
  labels: z.record(z.string().min(1).max(256), z.string().max(256)).default({}),
  skills_dirs: z.array(path).default([]),
  harnesses: path.optional(),
  limits: z
    .strictObject({
      max_workspace_bytes: integer(10_240 * MIB, MIB, Number.MAX_SAFE_INTEGER),
      max_output_bytes: integer(64 * MIB, 65_536, 1_024 * MIB),
      max_artifact_bytes: integer(64 * MIB, 1_024, 5_120 * MIB),
      setup_command_timeout: durationField('10min', '1s', '6h'),
      cancel_escalation_delay: durationField('2s', '100ms', '1min'),
    })
    .prefault({}),
  git: z
    .strictObject({
      clone_timeout: durationField('10min', '1s', '6h'),
      max_repository_bytes: integer(5_120 * MIB, MIB, Number.MAX_SAFE_INTEGER),
      max_mirrors_bytes: integer(20_480 * MIB, MIB, Number.MAX_SAFE_INTEGER),
      local_roots: z.array(z.string().startsWith('/')).default([]),
    })
    .prefault({}),
  connection: z
    .strictObject({
      ping_every: durationField('30s', '100ms', '10min'),
      pong_timeout: durationField('60s', '200ms', '30min'),
      reconnect_max: durationField('15s', '100ms', '10min'),
    })
    .prefault({}),
  backend: z
    .strictObject({
      process: processBackend.optional(),
      direct: processBackend.optional(),
      docker: dockerBackend.optional(),
      kubernetes: kubernetesBackend.optional(),
      command: never('use another backend'),
    })
    .refine(
      ({ process, direct, docker, kubernetes }) =>
        [process, direct, docker, kubernetes].filter((one) => one !== undefined).length <= 1,
      'must not contain several backends',
    )
    .prefault({}),
});

export type WorkerConfig = z.output<typeof configSchema>;

export const PROCESS_DEFAULTS = processBackend.parse({});
export const DOCKER_DEFAULTS = dockerBackend.parse({});
export const KUBERNETES_DEFAULTS = kubernetesBackend.parse({});
