/** How a flag's text becomes a value of the config. `list`: may be given several times. */
type FlagKind = 'text' | 'switch' | 'list' | 'pairs' | 'variables';

export interface Flag {
  readonly name: string;
  readonly short?: string;
  readonly kind: FlagKind;
  /** Where its value goes in the config file; null: read by hand. */
  readonly key: string | null;
  readonly argument?: string;
  readonly doc: string;
  /** Variable of the environment, when it is not HEADRACE_WORKER_<NAME>. */
  readonly variable?: string;
}

/** Every flag of `headrace worker`, in the order of its help. The names of the published daemon where it has them. */
export const FLAGS: readonly Flag[] = [
  {
    name: 'worker-id',
    kind: 'text',
    key: 'worker_id',
    argument: '<name>',
    variable: 'HEADRACE_WORKER_ID',
    doc: 'Name of this worker, the worker_host of runs. Several workers may share it.',
  },
  {
    name: 'server-root-url',
    kind: 'text',
    key: 'server_root_url',
    argument: '<url>',
    doc: 'Origin of the API. Default: the one of --web-socket-url, else http://127.0.0.1:3000.',
  },
  {
    name: 'web-socket-url',
    kind: 'text',
    key: 'web_socket_url',
    argument: '<url>',
    doc: 'Where to connect, when it is not <server-root-url>/api/v1/selfhosted/worker/ws.',
  },
  {
    name: 'api-key-file',
    kind: 'text',
    key: 'api_key_file',
    argument: '<path>',
    doc: 'File with the token of a service account; read for each connection. Default: HEADRACE_TOKEN or WARP_API_KEY of the environment.',
  },
  {
    name: 'config-file',
    kind: 'text',
    key: null,
    argument: '<path>',
    doc: 'YAML or JSON. Flags count before the environment, that before the file.',
  },
  {
    name: 'data-dir',
    kind: 'text',
    key: 'data_dir',
    argument: '<path>',
    doc: 'For the journal and mirrors of repositories; one worker each. Default: /var/lib/headrace-worker as root, else ~/.local/state/headrace-worker.',
  },
  {
    name: 'backend',
    kind: 'text',
    key: null,
    argument: '<name>',
    doc: 'process (also called direct) or docker. Default: the one of the config file, else process.',
  },
  {
    name: 'max-concurrent-tasks',
    kind: 'text',
    key: 'max_concurrent_tasks',
    argument: '<number>',
    doc: 'Runs at once; 0 for as many as come. Default: the number of processors.',
  },
  {
    name: 'drain-timeout',
    kind: 'text',
    key: 'drain_timeout',
    argument: '<duration>',
    doc: 'How long runs may go on after SIGTERM. Default: 30min.',
  },
  { name: 'one-shot', kind: 'switch', key: 'one_shot', doc: 'Take one run and exit: 0 when it succeeded.' },
  {
    name: 'workspace-root',
    kind: 'text',
    key: 'workspace_root',
    argument: '<path>',
    doc: 'Where the process backend makes workspaces. Default: below the data directory, or below /var/tmp.',
  },
  {
    name: 'env',
    short: 'e',
    kind: 'variables',
    key: 'environment',
    argument: '<name=value>',
    doc: 'Variable for whatever runs here, or a name alone to pass on this process’s own. Others on the machine can see arguments: put secrets into the server.',
  },
  {
    name: 'volumes',
    short: 'v',
    kind: 'list',
    key: 'volumes',
    argument: '<host:container[:mode]>',
    doc: 'Directory of this machine for containers (docker).',
  },
  { name: 'label', kind: 'pairs', key: 'labels', argument: '<name=value>', doc: 'Told to the server.' },
  {
    name: 'skills-dir',
    kind: 'list',
    key: 'skills_dirs',
    argument: '<path>',
    doc: 'Repository of this machine whose skills the server lists.',
  },
  {
    name: 'harnesses',
    kind: 'text',
    key: 'harnesses',
    argument: '<path>',
    variable: 'HARNESSES_FILE',
    doc: 'JSON file with agents besides the known ones, see docs/harnesses.md.',
  },
  {
    name: 'metrics-port',
    kind: 'text',
    key: 'metrics_port',
    argument: '<port>',
    doc: 'Serves Prometheus metrics at /metrics and health at /healthz. Default: not at all.',
  },
  {
    name: 'metrics-host',
    kind: 'text',
    key: 'metrics_host',
    argument: '<address>',
    doc: 'Where they are served. Default: 127.0.0.1.',
  },
  {
    name: 'log-level',
    kind: 'text',
    key: 'log_level',
    argument: '<level>',
    doc: 'debug, info, warn or error. The log is JSON lines on standard error.',
  },
  { name: 'no-cleanup', kind: 'switch', key: null, doc: 'Keep containers after their execution (docker).' },
  {
    name: 'idle-on-complete',
    kind: 'text',
    key: 'idle_on_complete',
    argument: '<duration>',
    doc: 'Accepted and without effect: the server decides.',
  },
];

export const variableOf = ({ name, variable }: Flag): string =>
  variable ?? `HEADRACE_WORKER_${name.toUpperCase().replaceAll('-', '_')}`;

const WIDTH = 100;
const INDENT = 34;

/** What `headrace worker --help` says beyond the usage line. */
export function flagsHelp(): string {
  const lines = FLAGS.flatMap(({ name, short, argument, doc }) => {
    const head = `  ${short === undefined ? '' : `-${short}, `}--${name}${argument === undefined ? '' : ` ${argument}`}`;
    const text = wrap(doc, WIDTH - INDENT);
    const [first = '', ...rest] = text;
    const start =
      head.length < INDENT - 1 ? [`${head.padEnd(INDENT)}${first}`] : [head, `${' '.repeat(INDENT)}${first}`];
    return [...start, ...rest.map((line) => `${' '.repeat(INDENT)}${line}`)];
  });
  return [
    ...lines,
    '',
    'Each flag can be set by a variable: HEADRACE_WORKER_ID, and HEADRACE_WORKER_DATA_DIR for --data-dir, and so on.',
    'SIGTERM drains, a second one stops what runs. Exit codes: 0 ended, 1 cannot work, 64 name refused, 77 key refused.',
    'See docs/operations/worker.md.',
  ].join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
