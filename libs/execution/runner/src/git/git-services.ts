import type { GitCredentialRequested, RepositoryRef } from '#execution/runner-protocol';
import type { ExecutionOptions } from '../execution-options.js';
import { searchPath } from '../process/child-environment.js';
import { findNode } from '../process/node-program.js';
import { startForgeAccess } from '../forges/forge-access.js';
import { retryTransient } from '../transient.js';
import type { Workspace } from '../workspace/workspace.js';
import { gitHosts, marks } from '../setup/clone-repositories.js';
import { credentialOrigins, startCredentialServer } from './credential-server.js';
import type { RepositoryCredentials } from './repository-credentials.js';
import { hasSshKeys, startSshServer } from './ssh-server.js';

interface GitServicesOptions extends Pick<
  ExecutionOptions,
  'handover' | 'assignment' | 'termination' | 'outbox' | 'log'
> {
  readonly workspace: Workspace;
  readonly credentials: RepositoryCredentials;
}

/** Writes what git in the workspace reads, and starts the servers that give it access to the repositories of the run. */
export async function startGitServices(options: GitServicesOptions): Promise<{ close(): void }[]> {
  const { workspace, credentials, handover, assignment, termination, outbox, log } = options;
  const { git, runAs } = workspace;
  if (git === null) return [];
  const { repositories = [] } = assignment;
  const sshNode = findSshNode(repositories, options);
  await retryTransient(() => git.create(assignment.git, { origins: credentialOrigins(repositories), sshNode }), {
    signal: termination.signal,
    log,
  });
  const onRequest = (request: GitCredentialRequested): void => {
    log.info('a credential was requested', { ...request });
    if (!termination.isFenced) outbox.push('git_credential_requested', request);
  };
  const access = { repositories, onRequest };
  const ssh = { hosts: gitHosts(handover), environment: marks(handover), log };
  const servers = [
    await startCredentialServer({ ...access, socket: git.socket, credentials }),
    sshNode === undefined ? null : await startSshServer({ ...access, ...ssh, socket: git.sshSocket }),
    ...(await startForgeAccess({ ...access, git, runAs, forges: assignment.git?.forges ?? [], credentials, log })),
  ];
  return servers.filter((server) => server !== null);
}

/** Undefined: no repository has a key for SSH, or the user of the agent can execute no Node.js. */
function findSshNode(
  repositories: readonly RepositoryRef[],
  { handover, log }: GitServicesOptions,
): string | undefined {
  if (!hasSshKeys(repositories)) return undefined;
  const node = findNode(searchPath, handover.run_as) ?? undefined;
  if (node === undefined)
    log.warn('git in the workspace has no access over SSH: the user of the agent can execute no Node.js');
  return node;
}
