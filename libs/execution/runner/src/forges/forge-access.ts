import type { ForgeRef, GitCredentialRequested, RepositoryRef } from '#execution/runner-protocol';
import type { GitDirectory } from '../git/git-directory.js';
import type { RepositoryCredentials } from '../git/repository-credentials.js';
import { findCommand } from '../process/child-environment.js';
import { SocketServer } from '../process/socket-server.js';
import type { RunnerLog } from '../runner-log.js';
import type { RunAs } from '../workspace/workspace.js';
import { PLACEHOLDER } from './api-messages.js';
import { ApiProxy, type ApiProxyOptions, type ApiRepository } from './api-proxy.js';
import { nameOnForge } from './find-forge.js';

interface ForgeAccessOptions {
  readonly git: GitDirectory;
  readonly runAs: RunAs | undefined;
  readonly forges: readonly ForgeRef[];
  readonly repositories: readonly RepositoryRef[];
  readonly credentials: RepositoryCredentials;
  readonly onRequest: (request: GitCredentialRequested) => void;
  readonly log: RunnerLog;
}

type ForgeType = ForgeRef['type'];

/** The command line program of each forge. `ownTokens`: variables with which the environment of the run configures it itself. */
const PROGRAMS = {
  github: {
    command: 'gh',
    variable: 'GH_CONFIG_DIR',
    ownTokens: ['GH_TOKEN', 'GITHUB_TOKEN', 'GH_ENTERPRISE_TOKEN', 'GITHUB_ENTERPRISE_TOKEN', 'GH_CONFIG_DIR'],
  },
  gitlab: {
    command: 'glab',
    variable: 'GLAB_CONFIG_DIR',
    ownTokens: ['GITLAB_TOKEN', 'GITLAB_ACCESS_TOKEN', 'OAUTH_TOKEN', 'JOB_TOKEN', 'GLAB_CONFIG_DIR'],
  },
} as const satisfies Record<ForgeType, object>;

const GH_PATH = 'GH_PATH';
const MAX_CONNECTIONS = 16;
/** `gh` uses the path as an address, in which the system allows no more. */
const MAX_SOCKET_BYTES = 107;

/** Starts a server of the API of each forge with a repository of the run that has a credential, and configures its program. */
export async function startForgeAccess(options: ForgeAccessOptions): Promise<{ close(): void }[]> {
  const servers: { close(): void }[] = [];
  for (const forge of options.forges) {
    const [first, ...others] = onForge(forge, options.repositories);
    if (!first) continue;
    const server = await startServer(forge, [first, ...others], options);
    if (server !== null) servers.push(server);
  }
  return servers;
}

async function startServer(
  forge: ForgeRef,
  repositories: ApiProxyOptions['repositories'],
  { git, runAs, credentials, onRequest, log }: ForgeAccessOptions,
): Promise<{ close(): void } | null> {
  const { hostname } = new URL(forge.url);
  const isGithub = forge.type === 'github';
  const socket = git.apiSocket;
  if (isGithub && Buffer.byteLength(socket) > MAX_SOCKET_BYTES) {
    log.warn('gh has no access to the API: the path of the workspace is too long', { socket });
    return null;
  }
  const hosts = isGithub ? [new URL(forge.api_url).hostname, hostname] : ['127.0.0.1'];
  const ending = new AbortController();
  const proxy = new ApiProxy({ forge, repositories, hosts, credentials, onRequest, log, ending: ending.signal });
  const server = await SocketServer.start({
    socket: isGithub ? socket : { user: runAs?.uid ?? process.getuid?.() },
    maxConnections: MAX_CONNECTIONS,
    // An HTTP server closes its connections itself.
    allowHalfOpen: true,
    onConnection: (connection) => void proxy.server.emit('connection', connection),
  });
  const files = isGithub ? ghFiles(hostname, socket) : glabFiles(hostname, server.port);
  const { command, variable } = PROGRAMS[forge.type];
  git.addConfiguration(variable, command, files);
  if (isGithub) git.addGhForGit(GH_PATH);
  return {
    close: () => {
      ending.abort();
      server.close();
    },
  };
}

function onForge(forge: ForgeRef, repositories: readonly RepositoryRef[]): ApiRepository[] {
  return repositories.flatMap((repository) => {
    const { url, credential, api_access: access } = repository;
    const name = credential && /^https?:/i.test(url) ? nameOnForge(forge, url) : null;
    return name === null ? [] : [{ repository, name, hasGraphql: access === 'token' }];
  });
}

/** YAML contains JSON. `version`: newer versions need not ask for the name of a user to change the format. */
function ghFiles(host: string, socket: string): Record<string, string> {
  const login = { oauth_token: PLACEHOLDER };
  const user = 'x-access-token';
  const entry = { git_protocol: 'https', user, ...login, users: { [user]: login } };
  return {
    'config.yml': JSON.stringify({ version: '1', http_unix_socket: socket, prompt: 'disabled' }),
    'hosts.yml': JSON.stringify({ [host]: entry }),
  };
}

function glabFiles(host: string, port: number): Record<string, string> {
  const entry = { token: PLACEHOLDER, api_protocol: 'http', api_host: `127.0.0.1:${port}`, git_protocol: 'https' };
  return { 'config.yml': JSON.stringify({ host, hosts: { [host]: entry }, check_update: false, no_prompt: true }) };
}

/** The variables without those of programs for which the layers have a configuration or a token. */
export function withoutReplaced(
  variables: Readonly<Record<string, string>>,
  layers: readonly Readonly<Record<string, string>>[],
): Record<string, string> {
  const replaced = Object.values(PROGRAMS).filter(({ ownTokens }) =>
    ownTokens.some((name) => layers.some((layer) => name in layer)),
  );
  const dropped: readonly string[] = replaced.flatMap(({ variable }) =>
    variable === 'GH_CONFIG_DIR' ? [variable, GH_PATH] : [variable],
  );
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !dropped.includes(name)));
}

/** What an agent reads about the programs that are installed and have access. `environment`: of the agent. */
export function forgeNotice(environment: Readonly<Record<string, string>>, git: GitDirectory | null): string {
  const commands = Object.values(PROGRAMS)
    .filter(({ variable }) => variable in (git?.variables ?? {}) && environment[variable] === git?.variables[variable])
    .map(({ command }) => command)
    .filter((command) => findCommand(command, environment['PATH'] ?? '') !== null);
  if (commands.length === 0) return '';
  return `${commands.map((command) => `\`${command}\``).join(' and ')} can be used for the repositories of this run without a login.`;
}
