import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configSection } from '#platform/git';
import { makeDirectorySync, shellWord } from '#platform/kernel';
import type { Assignment, GitPerson, RunnerHandover } from '#execution/runner-protocol';
import { sshClient } from './ssh-client.js';

/** Adds the person who asked for the run to the commits of the agent, but not to those of others that it applies again. */
const HOOK = `#!/bin/sh
directory=$(git rev-parse --git-dir) || exit 0
[ "$2" = merge ] || [ -e "$directory/CHERRY_PICK_HEAD" ] ||
  [ -d "$directory/rebase-merge" ] || [ -d "$directory/rebase-apply" ] && exit 0
person=$(git config --get headrace.coAuthor) || exit 0
exec git interpret-trailers --in-place --if-exists addIfDifferent --trailer "Co-authored-by: $person" "$1"
`;

/** What `gh` names as itself in settings for git: its token is none for git. */
const GH_FOR_GIT = (socket: string): string => `#!/bin/sh
[ "$1 $2" = "auth git-credential" ] && exec git credential-cache --socket=${shellWord(socket)} "$3"
exec gh "$@"
`;

const SSH_SOCKET = 'ssh.sock';

/** What git in the workspace asks the runner for. */
export interface GitServices {
  /** Origins of URLs for which git asks the credential server. */
  readonly origins: readonly string[];
  /** The Node.js that connects git with the server for ssh; undefined: there is no such server. */
  readonly sshNode?: string | undefined;
}

/**
 * What git in the workspace reads as the configuration of the machine (`GIT_CONFIG_SYSTEM`): every other configuration takes
 * precedence. It contains no credential.
 */
export class GitDirectory {
  readonly config = join(this.path, 'config');
  /** For repositories that the runner clones: it has the hook. */
  readonly template = join(this.path, 'template');
  readonly socket = join(this.path, 'credentials.sock');
  readonly sshSocket = join(this.path, SSH_SOCKET);
  readonly apiSocket = join(this.path, 'gh.sock');
  private readonly sshClient = join(this.path, 'ssh-client.cjs');
  /** That programs in the workspace get. */
  private readonly given: Record<string, string> = { GIT_CONFIG_SYSTEM: this.config };

  constructor(
    readonly path: string,
    private readonly runAs: RunnerHandover['run_as'],
  ) {}

  create(git: Assignment['git'], services: GitServices): void {
    const hooks = join(this.template, 'hooks');
    for (const directory of [this.path, this.template, hooks]) {
      makeDirectorySync(directory);
      this.assignOwner(directory);
    }
    this.write(join(hooks, 'prepare-commit-msg'), HOOK, 0o700);
    if (services.sshNode !== undefined) this.write(this.sshClient, sshClient(SSH_SOCKET), 0o600);
    this.write(this.config, this.configuration(git, services), 0o600);
  }

  get variables(): Readonly<Record<string, string>> {
    return this.given;
  }

  /** Adds a directory with the configuration of another program, and the variable that names it. */
  addConfiguration(variable: string, name: string, files: Readonly<Record<string, string>>): void {
    const directory = join(this.path, name);
    makeDirectorySync(directory);
    this.assignOwner(directory);
    for (const [file, content] of Object.entries(files)) this.write(join(directory, file), content, 0o600);
    this.given[variable] = directory;
  }

  /** `gh` uses the credentials of the run when it executes git. */
  addGhForGit(variable: string): void {
    const path = join(this.path, 'gh-for-git');
    this.write(path, GH_FOR_GIT(this.socket), 0o700);
    this.given[variable] = path;
  }

  private configuration(git: Assignment['git'], { origins, sshNode }: GitServices): string {
    return [
      configSection('include', { path: '/etc/gitconfig' }),
      ...(git ? [configSection('user', { ...git.author })] : []),
      ...(git?.co_author ? [configSection('headrace', { coAuthor: identityText(git.co_author) })] : []),
      ...(sshNode === undefined
        ? []
        : [
            configSection('core', { sshCommand: `${shellWord(sshNode)} ${shellWord(this.sshClient)}` }),
            // git would run it to find out.
            configSection('ssh', { variant: 'ssh' }),
          ]),
      ...origins.map((server) =>
        // The client of git's own credential cache: it speaks to a socket, and exists wherever git does.
        configSection(
          'credential',
          { useHttpPath: 'true', helper: `cache --socket=${shellWord(this.socket)}` },
          server,
        ),
      ),
    ].join('');
  }

  private write(path: string, content: string, mode: number): void {
    writeFileSync(path, content, { mode });
    this.assignOwner(path);
  }

  private assignOwner(path: string): void {
    if (this.runAs) chownSync(path, this.runAs.uid, this.runAs.gid);
  }
}

const identityText = ({ name, email }: GitPerson): string => `${name.replaceAll(/[<>\r\n]/g, '').trim()} <${email}>`;
