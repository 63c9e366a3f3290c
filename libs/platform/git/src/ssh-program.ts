import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { GitFailure } from './git-failure.js';
import { parseGitUrl } from './git-location.js';
import type { GitRepository } from './mirror.js';
import { checkHost, type GitHosts } from './remote-host.js';
import { withSshConfig } from './ssh-access.js';

/** A repository as ssh names it. `path` is as git hands it to the program on the server. */
export interface SshPlace {
  /** Null: the default of ssh. */
  readonly user: string | null;
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

interface SshProgramOptions {
  readonly hosts: GitHosts | undefined;
  readonly knownHosts: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Value of `GIT_PROTOCOL`; empty: none. */
  readonly protocol: string;
  /** The command on the server, for the path of the repository. */
  readonly command: (path: string) => string;
  readonly signal: AbortSignal;
  /** The process leads a process group. */
  readonly onStart: (process: ChildProcessWithoutNullStreams) => void;
}

const SSH_PORT = 22;
const SCP = /^([^@/]+)@([^:/]+):(.+)$/;
const FAILED = 255;

/** Where a repository is by ssh; null: its URL has another protocol. */
export function sshPlaceOf(url: string): SshPlace | null {
  const parsed = parseGitUrl(url);
  if (parsed.kind === 'invalid' || parsed.location.kind === 'local' || parsed.location.protocol !== 'ssh') return null;
  const scp = /^ssh:/i.test(url) ? null : SCP.exec(parsed.location.url);
  if (scp) {
    const [, user = '', host = '', path = ''] = scp;
    return { user, host, port: SSH_PORT, path };
  }
  const { username, hostname, port, pathname } = new URL(parsed.location.url);
  return {
    user: username === '' ? null : username,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? SSH_PORT : Number(port),
    path: decoded(pathname).replace(/^\/~/, '~'),
  };
}

/**
 * Executes a command on the server of a repository, with the key of the repository, as git would. Resolves to the exit code of ssh.
 * Rejects with a GitFailure if ssh cannot be started.
 */
export async function runSshProgram(repository: GitRepository, options: SshProgramOptions): Promise<number> {
  const { url, credential } = repository;
  const { hosts, knownHosts, environment, protocol, command, signal, onStart } = options;
  const parsed = parseGitUrl(url);
  const place = sshPlaceOf(url);
  if (parsed.kind === 'invalid' || parsed.location.kind === 'local' || place === null)
    throw new GitFailure('invalid', 'The URL of the repository is not one for ssh.');
  const { address } = hosts ? await checkHost(parsed.location, hosts) : { address: null };
  const { user, host, port, path } = place;
  const hostKeyAlias = `[${host}]:${port}`;
  return withSshConfig({ credential, address, knownHosts, hostKeyAlias }, async (config) => {
    if (signal.aborted) throw new GitFailure('aborted', 'ssh was stopped.');
    const child = spawn(
      'ssh',
      [
        ...['-F', config, '-p', String(port), ...(protocol === '' ? [] : ['-o', 'SendEnv=GIT_PROTOCOL'])],
        ...['--', user === null ? host : `${user}@${host}`, command(path)],
      ],
      {
        cwd: '/',
        env: {
          ...environment,
          PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
          LC_ALL: 'C',
          ...(protocol === '' ? {} : { GIT_PROTOCOL: protocol }),
        },
        detached: true,
      },
    );
    return new Promise<number>((resolve, reject) => {
      const stop = (): void => endGroup(child);
      signal.addEventListener('abort', stop, { once: true });
      child.once('error', (error: NodeJS.ErrnoException) => reject(startFailure(error)));
      child.once('close', (code) => {
        signal.removeEventListener('abort', stop);
        resolve(code ?? FAILED);
      });
      if (child.pid !== undefined) onStart(child);
    });
  });
}

function endGroup({ pid }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const startFailure = (error: NodeJS.ErrnoException): GitFailure =>
  new GitFailure(
    'failed',
    error.code === 'ENOENT'
      ? 'The OpenSSH client (ssh) is not installed on this machine.'
      : `ssh could not be started: ${error.code ?? error.message}.`,
  );

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
