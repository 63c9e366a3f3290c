import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parse, YAMLParseError } from 'yaml';
import { HarnessesFileError, readHarnessesFile } from '#execution/runner';
import type { HarnessDefinition } from '#execution/runner-protocol';
import { WORKER_SOCKET_PATH } from '#execution/worker-protocol';
import { WorkerFault } from '../worker-fault.js';
import { dockerVariables, workerDocker } from './docker-options.js';
import {
  configSchema,
  DOCKER_DEFAULTS,
  KUBERNETES_DEFAULTS,
  PROCESS_DEFAULTS,
  type WorkerConfig,
} from './config-schema.js';
import { type Flag, FLAGS, isRepeatable, keyOf, variableOf } from './flags.js';
import { workerKubernetes } from './kubernetes-options.js';

type Environment = Readonly<Record<string, string | undefined>>;
type Tree = Record<string, unknown>;
const BACKEND_NAMES = ['process', 'docker', 'kubernetes'] as const;
type BackendName = (typeof BACKEND_NAMES)[number];

const WRONG_USAGE = 2;
const DEFAULT_ROOT = 'http://127.0.0.1:3000';
const SOCKET_PATH = `/api/v1${WORKER_SOCKET_PATH}`;
const BACKEND_KEYS = ['workspace_root', 'environment', 'volumes'];

/** Merges flags, environment, configuration file and defaults, in this order of precedence. Throws a WorkerFault that lists every problem. `pluginBackends`: names. */
export function readWorkerOptions(
  args: readonly string[],
  environment: Environment,
  pluginBackends: readonly string[] = [],
): WorkerOptions {
  const given = readFlags(args, environment);
  const tree = readConfigFile(given.text('config-file'));
  const name = backendOf(given.text('backend'), tree, pluginBackends);
  // A backend of a plugin has no section.
  const backend = isBuiltIn(name) ? name : 'process';
  const section = sectionOf(tree, backend);
  for (const flag of FLAGS) {
    const value = given.value(flag);
    const key = keyOf(flag);
    if (value === undefined || key === null) continue;
    // The schema would reject options of the other backend.
    const target = BACKEND_KEYS.includes(key) ? section : tree;
    target[key] = merged(target[key], value);
  }
  if (backend === 'docker') Object.assign(section, dockerVariables(environment));
  if (given.isOn('no-cleanup')) tree['cleanup'] = false;
  const result = configSchema.safeParse(tree);
  if (!result.success) {
    const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'configuration'}: ${message}`);
    throw new WorkerFault(`Invalid configuration: ${problems.join('; ')}.`, WRONG_USAGE);
  }
  return { ...optionsOf(result.data, backend, environment), backend: name };
}

/** The type of the options is inferred from here. Times are in milliseconds unless the name has another unit. */
function optionsOf(config: WorkerConfig, backend: BackendName, environment: Environment) {
  const { setup_command_timeout: setupTimeout, cancel_escalation_delay: cancelDelay, ...sizeLimits } = config.limits;
  const { clone_timeout: cloneTimeout, ...git } = config.git;
  const { connection } = config;
  const local = config.backend.process ?? config.backend.direct ?? PROCESS_DEFAULTS;
  const docker = config.backend.docker ?? DOCKER_DEFAULTS;
  const kubernetes = config.backend.kubernetes ?? KUBERNETES_DEFAULTS;
  const root = new URL(config.server_root_url ?? config.web_socket_url?.replace(/^ws/, 'http') ?? DEFAULT_ROOT).origin;
  return {
    workerId: config.worker_id,
    /** Read for each connection, so that a file can be replaced. Never log the result. */
    apiKey: apiKeySource(config.api_key_file, environment),
    apiKeyFile: config.api_key_file ?? null,
    /** Origin of the API, without `/api/v1`. */
    serverRootUrl: root,
    webSocketUrl: config.web_socket_url ?? `${root.replace(/^http/, 'ws')}${SOCKET_PATH}`,
    dataDir: resolve(config.data_dir ?? defaultDataDir(environment)),
    backend,
    slots: config.one_shot ? 1 : config.max_concurrent_tasks,
    drainTimeout: config.drain_timeout,
    oneShot: config.one_shot,
    /** Null: no metrics. 0: a free port. */
    metricsPort: config.metrics_port ?? null,
    metricsHost: config.metrics_host,
    logLevel: config.log_level,
    cleanup: config.cleanup,
    labels: config.labels,
    skillsDirs: config.skills_dirs,
    harnesses: harnessesOf(config.harnesses),
    environment: { process: local, docker, kubernetes }[backend].environment,
    limits: {
      ...sizeLimits,
      setup_command_timeout_seconds: setupTimeout / 1000,
      cancel_step_seconds: cancelDelay / 1000,
    },
    git: { ...git, clone_timeout_seconds: cloneTimeout / 1000 },
    connection: {
      pingEvery: connection.ping_every,
      pongTimeout: connection.pong_timeout,
      reconnectMax: connection.reconnect_max,
    },
    process: {
      workspaceRoot: local.workspace_root,
      agentUidBase: local.agent_uid_base,
      agentUidCount: local.agent_uid_count,
    },
    docker: workerDocker(docker, root),
    kubernetes: workerKubernetes(kubernetes, root),
  };
}

type ParsedOptions = ReturnType<typeof optionsOf>;
/** `backend`: also one of a plugin. */
export type WorkerOptions = Readonly<Omit<ParsedOptions, 'backend'> & { backend: string }>;

function readFlags(args: readonly string[], environment: Environment) {
  if (args.some((arg) => arg === '--api-key' || arg.startsWith('--api-key=')))
    throw new WorkerFault(
      'Other users of this machine can see arguments: put the API key into WARP_API_KEY, or into a file for --api-key-file.',
      WRONG_USAGE,
    );
  const options = Object.fromEntries(
    FLAGS.map((flag) => {
      const type = flag.kind === 'switch' ? ('boolean' as const) : ('string' as const);
      const short = flag.short === undefined ? {} : { short: flag.short };
      return [flag.name, { type, multiple: isRepeatable(flag), ...short }];
    }),
  );
  const values = parseArgs({ args: [...args], options }).values as Record<
    string,
    string | boolean | string[] | undefined
  >;
  const raw = (flag: Flag): string | boolean | string[] | undefined => {
    const argument = values[flag.name];
    if (argument !== undefined) return argument;
    const text = environment[variableOf(flag)];
    if (text === undefined || text === '') return undefined;
    if (flag.kind === undefined) return text;
    return flag.kind === 'switch' ? isYes(flag, text) : text.split(',').map((part) => part.trim());
  };
  const named = (name: string): Flag =>
    FLAGS.find((flag) => flag.name === name) ?? { name, key: null, description: '' };
  return {
    text: (name: string): string | undefined => {
      const value = raw(named(name));
      return typeof value === 'string' ? value : undefined;
    },
    isOn: (name: string): boolean => raw(named(name)) === true,
    value: (flag: Flag): unknown => {
      const value = raw(flag);
      if (!Array.isArray(value)) return value;
      if (flag.kind === 'pairs') return Object.fromEntries(value.map((pair) => split(flag, pair)));
      if (flag.kind === 'variables') return value.map(variable);
      return value;
    },
  };
}

function isYes(flag: Flag, text: string): boolean {
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw new WorkerFault(`${variableOf(flag)} must be true or false.`, WRONG_USAGE);
}

function split({ name }: Flag, pair: string): [string, string] {
  const at = pair.indexOf('=');
  if (at < 1) throw new WorkerFault(`--${name} must be name=value.`, WRONG_USAGE);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function variable(text: string): { name: string; value?: string } {
  const at = text.indexOf('=');
  return at < 0 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

function readConfigFile(path: string | undefined): Tree {
  if (path === undefined) return {};
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new WorkerFault(`--config-file: cannot be read (${code}).`, WRONG_USAGE);
  }
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    // The message of the parser would quote the file, which may contain secrets.
    const line = error instanceof YAMLParseError ? `, line ${error.linePos?.[0].line ?? 1}` : '';
    throw new WorkerFault(`--config-file: not valid YAML or JSON${line}.`, WRONG_USAGE);
  }
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw new WorkerFault('--config-file: must be a mapping of keys to values.', WRONG_USAGE);
  return value as Tree;
}

const isBuiltIn = (name: string): name is BackendName => (BACKEND_NAMES as readonly string[]).includes(name);

function backendOf(flag: string | undefined, tree: Tree, added: readonly string[]): string {
  const named = isTree(tree['backend']) ? Object.keys(tree['backend']) : [];
  const wanted = flag ?? named[0] ?? 'process';
  if (wanted === 'process' || wanted === 'direct') return 'process';
  if (isBuiltIn(wanted) || added.includes(wanted)) return wanted;
  const known = ['process', 'direct', 'docker', 'kubernetes', ...added];
  throw new WorkerFault(`--backend must be one of ${known.join(', ')}, not "${wanted.slice(0, 40)}".`, WRONG_USAGE);
}

/** The section of the selected backend. Sections of other backends are dropped. */
function sectionOf(tree: Tree, backend: BackendName): Tree {
  const all = isTree(tree['backend']) ? tree['backend'] : {};
  const name = backend === 'process' && all['direct'] !== undefined ? 'direct' : backend;
  const section = isTree(all[name]) ? all[name] : {};
  tree['backend'] = { [name]: section };
  return section;
}

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Lists and mappings of flags extend those of the file; other values replace them. */
function merged(old: unknown, value: unknown): unknown {
  if (Array.isArray(value)) return [...(Array.isArray(old) ? (old as unknown[]) : []), ...(value as unknown[])];
  return isTree(value) && isTree(old) ? { ...old, ...value } : value;
}

function defaultDataDir(environment: Environment): string {
  if (process.getuid?.() === 0) return '/var/lib/headrace-worker';
  const state = environment['XDG_STATE_HOME'];
  return join(state === undefined || state === '' ? join(homedir(), '.local/state') : state, 'headrace-worker');
}

function harnessesOf(path: string | undefined): Readonly<Record<string, HarnessDefinition>> {
  if (path === undefined) return {};
  try {
    return readHarnessesFile(path);
  } catch (error) {
    if (!(error instanceof HarnessesFileError)) throw error;
    throw new WorkerFault(error.message, WRONG_USAGE);
  }
}

const KEY_VARIABLES = ['HEADRACE_TOKEN', 'WARP_API_KEY'] as const;

/** Throws a WorkerFault when there is no key. */
function apiKeySource(file: string | undefined, environment: Environment): () => string {
  if (file !== undefined) {
    readKey(file);
    return () => readKey(file);
  }
  const key = KEY_VARIABLES.map((name) => environment[name]?.trim()).find(
    (value) => value !== undefined && value !== '',
  );
  if (key === undefined)
    throw new WorkerFault('An API key is required: use --api-key-file, or set HEADRACE_TOKEN or WARP_API_KEY.');
  const valid = checked(key);
  return () => valid;
}

/** Whether every user of this machine can read the file, including the users of runs. */
export function isWorldReadable(file: string): boolean {
  return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
}

function readKey(file: string): string {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new WorkerFault(`--api-key-file: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`);
  }
  return checked(key);
}

function checked(key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new WorkerFault('Invalid API key: it is empty or contains illegal characters.');
  return key;
}
