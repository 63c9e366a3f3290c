import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parse, YAMLParseError } from 'yaml';
import { HarnessesFileError, readHarnessesFile } from '#execution/runner';
import type { HarnessDefinition } from '#execution/runner-protocol';
import { WORKER_SOCKET_PATH } from '#execution/worker-protocol';
import { WorkerFault } from '../backend.js';
import { dockerVariables, workerDocker } from '../docker/docker-config.js';
import { apiKeySource } from './api-key.js';
import { configSchema, DOCKER_DEFAULTS, PROCESS_DEFAULTS, type WorkerConfig } from './config-schema.js';
import { type Flag, FLAGS, variableOf } from './flags.js';
import type { WorkerOptions } from './worker-options.js';

type Environment = Readonly<Record<string, string | undefined>>;
type Tree = Record<string, unknown>;

const WRONG_USE = 2;
const DEFAULT_ROOT = 'http://127.0.0.1:3000';
const SOCKET_PATH = `/api/v1${WORKER_SOCKET_PATH}`;
/** Below `backend.<name>` in the config. */
const OF_BACKEND = ['workspace_root', 'environment', 'volumes'];

/** Flags, then the environment, then the config file, then defaults. Rejects with WorkerFault that names what is wrong. */
export function readWorkerOptions(args: readonly string[], environment: Environment): WorkerOptions {
  const given = readFlags(args, environment);
  const tree = readConfigFile(given.text('config-file'));
  const backend = backendOf(given.text('backend'), tree);
  const section = sectionOf(tree, backend);
  for (const flag of FLAGS) {
    const value = given.value(flag);
    if (value === undefined || flag.key === null) continue;
    // What the other backend alone understands would be refused there.
    if (OF_BACKEND.includes(flag.key)) section[flag.key] = merged(section[flag.key], value);
    else tree[flag.key] = merged(tree[flag.key], value);
  }
  if (backend === 'docker') Object.assign(section, dockerVariables(environment));
  if (given.isOn('no-cleanup')) tree['cleanup'] = false;
  const result = configSchema.safeParse(tree);
  if (!result.success) {
    const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`);
    throw new WorkerFault(`The configuration of the worker is not valid: ${problems.join('; ')}.`, WRONG_USE);
  }
  return optionsOf(result.data, backend, environment);
}

function optionsOf(config: WorkerConfig, backend: 'process' | 'docker', environment: Environment): WorkerOptions {
  const { limits, git, connection } = config;
  const local = config.backend.process ?? config.backend.direct ?? PROCESS_DEFAULTS;
  const docker = config.backend.docker ?? DOCKER_DEFAULTS;
  const root = originOf(config.server_root_url ?? config.web_socket_url?.replace(/^ws/, 'http') ?? DEFAULT_ROOT);
  return {
    workerId: config.worker_id,
    apiKey: apiKeySource(config.api_key_file, environment),
    apiKeyFile: config.api_key_file ?? null,
    serverRootUrl: root,
    webSocketUrl: config.web_socket_url ?? `${root.replace(/^http/, 'ws')}${SOCKET_PATH}`,
    dataDir: resolve(config.data_dir ?? defaultDataDir(environment)),
    backend,
    slots: config.one_shot ? 1 : config.max_concurrent_tasks,
    drainTimeout: config.drain_timeout,
    oneShot: config.one_shot,
    metricsPort: config.metrics_port ?? null,
    metricsHost: config.metrics_host,
    logLevel: config.log_level,
    cleanup: config.cleanup,
    labels: config.labels,
    skillsDirs: config.skills_dirs,
    harnesses: harnessesOf(config.harnesses),
    environment: backend === 'process' ? local.environment : docker.environment,
    limits: {
      max_workspace_bytes: limits.max_workspace_bytes,
      max_output_bytes: limits.max_output_bytes,
      max_artifact_bytes: limits.max_artifact_bytes,
      setup_command_timeout_seconds: limits.setup_command_timeout / 1000,
      cancel_step_seconds: limits.cancel_step / 1000,
    },
    git: {
      cloneTimeoutSeconds: git.clone_timeout / 1000,
      maxRepositoryBytes: git.max_repository_bytes,
      maxMirrorsBytes: git.max_mirrors_bytes,
      localRoots: git.local_roots,
    },
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
  };
}

interface Given {
  readonly text: (name: string) => string | undefined;
  readonly isOn: (name: string) => boolean;
  readonly value: (flag: Flag) => unknown;
}

function readFlags(args: readonly string[], environment: Environment): Given {
  if (args.some((arg) => arg === '--api-key' || arg.startsWith('--api-key=')))
    throw new WorkerFault(
      'Others on this machine can see arguments: put the API key into WARP_API_KEY, or into a file that --api-key-file names.',
      WRONG_USE,
    );
  const options = Object.fromEntries(
    FLAGS.map(({ name, short, kind }) => [
      name,
      {
        type: kind === 'switch' ? ('boolean' as const) : ('string' as const),
        multiple: kind === 'list' || kind === 'pairs' || kind === 'variables',
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  const values = parseArgs({ args: [...args], options }).values as Record<
    string,
    string | boolean | string[] | undefined
  >;
  const raw = (flag: Flag): string | boolean | string[] | undefined => {
    const told = values[flag.name];
    if (told !== undefined) return told;
    const text = environment[variableOf(flag)];
    if (text === undefined || text === '') return undefined;
    if (flag.kind === 'text') return text;
    return flag.kind === 'switch' ? isYes(flag, text) : text.split(',').map((part) => part.trim());
  };
  const named = (name: string): Flag =>
    FLAGS.find((flag) => flag.name === name) ?? { name, kind: 'text', key: null, doc: '' };
  return {
    text: (name) => {
      const value = raw(named(name));
      return typeof value === 'string' ? value : undefined;
    },
    isOn: (name) => raw(named(name)) === true,
    value: (flag) => {
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
  throw new WorkerFault(`${variableOf(flag)} must be true or false.`, WRONG_USE);
}

function split({ name }: Flag, pair: string): [string, string] {
  const at = pair.indexOf('=');
  if (at < 1) throw new WorkerFault(`--${name} must be name=value.`, WRONG_USE);
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
    throw new WorkerFault(`What --config-file names cannot be read (${code}).`, WRONG_USE);
  }
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    // The parser's message repeats what it could not read.
    const line = error instanceof YAMLParseError ? `, line ${error.linePos?.[0].line ?? 1}` : '';
    throw new WorkerFault(`What --config-file names is no YAML and no JSON${line}.`, WRONG_USE);
  }
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw new WorkerFault('What --config-file names is no mapping of names to values.', WRONG_USE);
  return value as Tree;
}

function backendOf(flag: string | undefined, tree: Tree): 'process' | 'docker' {
  const named = isTree(tree['backend']) ? Object.keys(tree['backend']) : [];
  const wanted = flag ?? named[0] ?? 'process';
  if (wanted === 'process' || wanted === 'direct') return 'process';
  if (wanted === 'docker') return 'docker';
  throw new WorkerFault(
    `There is no backend "${wanted.slice(0, 40)}"; it is one of process, direct, docker.`,
    WRONG_USE,
  );
}

/** The section of the backend that was chosen; another one's is put aside, because it was not chosen. */
function sectionOf(tree: Tree, backend: 'process' | 'docker'): Tree {
  const all = isTree(tree['backend']) ? tree['backend'] : {};
  const name = backend === 'process' && all['direct'] !== undefined ? 'direct' : backend;
  const section = isTree(all[name]) ? all[name] : {};
  tree['backend'] = { [name]: section };
  return section;
}

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Lists and mappings of flags come on top of the file's; anything else takes its place. */
function merged(old: unknown, value: unknown): unknown {
  if (Array.isArray(value)) return [...(Array.isArray(old) ? (old as unknown[]) : []), ...(value as unknown[])];
  return isTree(value) && isTree(old) ? { ...old, ...value } : value;
}

function originOf(url: string): string {
  return new URL(url).origin;
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
    throw new WorkerFault(error.message, WRONG_USE);
  }
}
