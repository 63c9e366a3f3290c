import { z } from 'zod';
import { configSchema } from './config-schema.js';

/** How the text of a flag becomes a value of the configuration. All but `switch` may be repeated. */
type FlagKind = 'switch' | 'list' | 'pairs' | 'variables';

export interface Flag {
  readonly name: string;
  readonly short?: string;
  /** Default: the text itself. */
  readonly kind?: FlagKind;
  /** Key of the configuration file, if it is not the name; null for a flag that is evaluated separately. */
  readonly key?: string | null;
  readonly value?: string;
  readonly description: string;
  /** Environment variable, if it is not HEADRACE_WORKER_<NAME>. */
  readonly variable?: string;
}

/** Every flag of `headrace worker`, in the order of its help. Flags of the published daemon have the same names. */
export const FLAGS: readonly Flag[] = [
  {
    name: 'worker-id',
    value: 'name',
    variable: 'HEADRACE_WORKER_ID',
    description: 'Name of this worker, the worker_host of runs. Several workers may have the same name.',
  },
  {
    name: 'server-root-url',
    value: 'url',
    description: 'Origin of the API. Default: that of --web-socket-url, else http://127.0.0.1:3000.',
  },
  {
    name: 'web-socket-url',
    value: 'url',
    description: 'URL of the connection. Default: <server-root-url>/api/v1/selfhosted/worker/ws.',
  },
  {
    name: 'api-key-file',
    value: 'path',
    description:
      'File with the token of a service account, read for each connection. Default: the environment variable HEADRACE_TOKEN or WARP_API_KEY.',
  },
  {
    name: 'config-file',
    key: null,
    value: 'path',
    description:
      'Configuration file, YAML or JSON. Flags have precedence over the environment, and the environment over the file.',
  },
  {
    name: 'data-dir',
    value: 'path',
    description:
      'Directory of the journal and of mirrors of repositories, for one worker only. Default: /var/lib/headrace-worker as root, else ~/.local/state/headrace-worker.',
  },
  {
    name: 'backend',
    key: null,
    value: 'name',
    description: 'process (alias direct), docker or kubernetes. Default: that of the configuration file, else process.',
  },
  {
    name: 'max-concurrent-tasks',
    value: 'number',
    description: 'Maximum number of concurrent runs; 0 for no limit. Default: the number of processors.',
  },
  {
    name: 'drain-timeout',
    value: 'duration',
    description: 'How long runs may continue after SIGTERM.',
  },
  { name: 'one-shot', kind: 'switch', description: 'Execute one run and exit; 0 if it succeeded.' },
  {
    name: 'workspace-root',
    value: 'path',
    description:
      'Directory of the workspaces of the process backend. Default: below the data directory, or below /var/tmp.',
  },
  {
    name: 'env',
    short: 'e',
    kind: 'variables',
    key: 'environment',
    value: 'name=value',
    description:
      'Environment variable of every run; without =value the value of this process. Other users of the machine can see arguments, so use managed secrets of the server for secrets.',
  },
  {
    name: 'volumes',
    short: 'v',
    kind: 'list',
    value: 'host:container[:mode]',
    description: 'Directory of this machine that containers can access (docker).',
  },
  {
    name: 'label',
    kind: 'pairs',
    key: 'labels',
    value: 'name=value',
    description: 'Label of this worker on the server.',
  },
  {
    name: 'skills-dir',
    kind: 'list',
    key: 'skills_dirs',
    value: 'path',
    description: 'Repository of this machine whose skills the server lists.',
  },
  {
    name: 'harnesses',
    value: 'path',
    variable: 'HARNESSES_FILE',
    description: 'JSON file with additional agents, see docs/harnesses.md.',
  },
  {
    name: 'metrics-port',
    value: 'port',
    description: 'Port of Prometheus metrics at /metrics and health at /healthz. Default: none.',
  },
  {
    name: 'metrics-host',
    value: 'address',
    description: 'Address that the metrics port binds.',
  },
  {
    name: 'log-level',
    value: 'level',
    description: 'Log level: debug, info, warn or error. The log is JSON lines on standard error.',
  },
  { name: 'no-cleanup', kind: 'switch', key: null, description: 'Keep containers after their execution (docker).' },
  {
    name: 'idle-on-complete',
    value: 'duration',
    description: 'Accepted and ignored: the server decides.',
  },
];

export const keyOf = ({ name, key = name.replaceAll('-', '_') }: Flag): string | null => key;

export const isRepeatable = ({ kind }: Flag): boolean => kind !== undefined && kind !== 'switch';

export const variableOf = ({ name, variable }: Flag): string =>
  variable ?? `HEADRACE_WORKER_${name.toUpperCase().replaceAll('-', '_')}`;

/** A flag as help shows it; `value` is null for a switch. */
export interface FlagHelp extends Pick<Flag, 'name' | 'short' | 'description'> {
  readonly value: string | null;
  readonly default?: string | undefined;
  readonly isRepeatable: boolean;
}

/** The flags with the defaults of the configuration. Defaults that depend on the machine are part of the description. */
export function flagsHelp(): readonly FlagHelp[] {
  const { properties = {} } = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });
  return FLAGS.map((flag) => {
    const { name, short, value = null, description } = flag;
    const property = properties[keyOf(flag) ?? ''];
    const fallback = typeof property === 'object' ? property.default : undefined;
    const shown = typeof fallback === 'string' ? fallback : undefined;
    return { name, short, value, description, default: shown, isRepeatable: isRepeatable(flag) };
  });
}

export const FLAGS_NOTE = [
  'Each flag can be set by an environment variable: HEADRACE_WORKER_ID, HEADRACE_WORKER_DATA_DIR for --data-dir, and so on.',
  'SIGTERM drains, a second SIGTERM stops running tasks. Exit codes: 0 ended, 1 failed, 64 name rejected, 77 key rejected.',
  'See docs/operations/worker.md.',
].join('\n');
