import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { inDirectoryOf } from '#platform/kernel';
import { GitFailure, reasonOf } from './git-failure.js';

export interface GitCall {
  /** Values of users stand behind `--`, or were checked not to begin with a hyphen. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly config?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Transports that this process may use (`https`, `fd` …). Default: none. */
  readonly protocols?: readonly string[];
  readonly input?: string | Buffer;
  /** Standard input stays open for writing. */
  readonly streamsInput?: boolean;
  /** What the process can read from descriptor 3, once, and never sees otherwise. */
  readonly secretInput?: string;
  /** Descriptors 3 and 4 are streams of ours. */
  readonly wired?: boolean;
  readonly runAs?: { readonly uid: number; readonly gid: number };
  readonly signal?: AbortSignal;
  /** Default: one minute. */
  readonly timeoutMs?: number;
  /** Bytes of standard output; more of it ends the process. Default: 1 MiB. */
  readonly maxOutputBytes?: number;
  /** Taken out of everything that git says. */
  readonly scrub?: (text: string) => string;
}

/** For a repository whose owner is not checked: whether it may be used was decided by where it is. */
export const SERVER_SIDE = { cwd: '/', config: { 'safe.directory': '*' } } as const;

export const SHALLOW_FETCH = ['--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head'];

export const inDirectory = (gitDirectory: string, ...args: string[]): GitCall => ({
  ...SERVER_SIDE,
  args: [`--git-dir=${gitDirectory}`, ...args],
});

export interface GitResult {
  readonly stdout: Buffer;
  readonly stderr: string;
}

const MINUTE_MS = 60_000;
const MIB = 1_048_576;
const STDERR_BYTES = 16_384;
/** From the end of git to that of its pipes. */
const DRAIN_MS = 2_000;

/** One git process, which leads a separate process group, so that its helpers always end with it. */
export class GitProcess {
  private readonly child: ChildProcess;
  private readonly closed: Promise<number>;
  private readonly spawned: Promise<void>;
  private stderr = Buffer.alloc(0);
  private fault: GitFailure | null = null;

  /** Throws a GitFailure when the directory is not the user's. */
  constructor(private readonly call: GitCall) {
    const { input, secretInput } = call;
    this.child = startGit(call);
    this.spawned = new Promise((resolve, reject) => {
      this.child.once('spawn', resolve);
      this.child.once('error', (error: NodeJS.ErrnoException) =>
        reject(
          error.code === 'ENOENT'
            ? new GitFailure('failed', 'git was not found on this machine, or the directory to run it in.')
            : new GitFailure('failed', `git could not be started: ${error.code ?? error.message}.`),
        ),
      );
    });
    this.spawned.catch(() => undefined);
    this.closed = new Promise((resolve) =>
      this.child.once('close', (code, signal) => resolve(code ?? (signal ? 128 + constants.signals[signal] : 128))),
    );
    // A program that git has executed may keep the pipes open.
    this.child.once('exit', () => {
      const draining = setTimeout(() => {
        for (const stream of this.child.stdio) stream?.destroy();
      }, DRAIN_MS);
      void this.closed.then(() => clearTimeout(draining));
    });
    // The pipes of an ended process fail; its exit code contains the reason.
    for (const stream of this.child.stdio) stream?.on('error', () => undefined);
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr = Buffer.concat([this.stderr, chunk]);
      if (this.stderr.length > 2 * STDERR_BYTES) this.stderr = this.stderr.subarray(-STDERR_BYTES);
    });
    if (input !== undefined) this.child.stdin?.end(input);
    if (secretInput !== undefined) this.wire(3).end(secretInput);
  }

  get stdin(): Writable | null {
    return this.child.stdin;
  }

  get stdout(): Readable | null {
    return this.child.stdout;
  }

  wire(descriptor: 3 | 4): Duplex {
    const stream = this.child.stdio[descriptor];
    if (!stream) throw new Error(`git was started without descriptor ${descriptor}.`);
    return stream as Duplex;
  }

  /** Ends it at once; its result rejects with this failure. */
  end(fault: GitFailure): void {
    this.fault ??= fault;
    const { pid } = this.child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      this.child.kill('SIGKILL');
    }
  }

  /** Resolves when it has ended well; rejects with a GitFailure. */
  async finished(): Promise<{ stderr: string }> {
    const { signal, timeoutMs = MINUTE_MS } = this.call;
    const onAbort = (): void => this.end(new GitFailure('aborted', 'git was stopped.'));
    const timer = setTimeout(
      () => this.end(new GitFailure('timeout', `git took longer than ${Math.ceil(timeoutMs / 1000)} s.`)),
      timeoutMs,
    );
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await this.spawned;
      const code = await this.closed;
      if (this.fault) throw this.fault;
      const stderr = this.errorText();
      if (code !== 0) throw new GitFailure(reasonOf(stderr), firstFatal(stderr), code, stderr);
      return { stderr };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  private errorText(): string {
    const text = this.stderr.subarray(-STDERR_BYTES).toString('utf8').trim();
    return this.call.scrub?.(text) ?? text;
  }
}

export const runGit = async (call: GitCall): Promise<GitResult> => collect(new GitProcess(call), call.maxOutputBytes);

function startGit(call: GitCall): ChildProcess {
  const { args, cwd, input, streamsInput, secretInput, wired, runAs } = call;
  const third = secretInput !== undefined || wired ? (['pipe'] as const) : [];
  const hasInput = input !== undefined || streamsInput === true;
  const start = (directory: string): ChildProcess =>
    spawn('git', [...args], {
      cwd: directory,
      env: gitEnvironment({
        protocols: call.protocols ?? [],
        config: call.config ?? {},
        extra: call.environment ?? {},
      }),
      detached: true,
      stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe', ...third, ...(wired ? (['pipe'] as const) : [])],
      ...runAs,
    });
  if (!runAs) return start(cwd);
  try {
    return inDirectoryOf(runAs.uid, cwd, start);
  } catch (error) {
    throw new GitFailure('failed', `git could not be started: ${(error as Error).message}.`);
  }
}

export async function collect(git: GitProcess, maxBytes = MIB): Promise<GitResult> {
  const chunks: Buffer[] = [];
  let size = 0;
  git.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) git.end(new GitFailure('too_large', `git printed more than ${maxBytes} bytes.`));
    else chunks.push(chunk);
  });
  const { stderr } = await git.finished();
  return { stdout: Buffer.concat(chunks), stderr };
}

/** The line that says why, without git's own prefix. */
function firstFatal(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const line = lines.find((text) => /^(fatal|error):/.test(text)) ?? lines.at(-1) ?? '';
  return line === '' ? 'git failed without a word.' : line;
}

/**
 * The whole environment of a git process: nothing of ours goes in but the PATH. No configuration of the machine or of a
 * user, no hooks, no prompts, no submodules, no LFS, and no transport but those named.
 */
function gitEnvironment(options: {
  readonly protocols: readonly string[];
  readonly config: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, string>>;
}): Record<string, string> {
  return {
    ...options.extra,
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ADVICE: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_ALLOW_PROTOCOL: options.protocols.join(':'),
    ...asConfig({ ...ALWAYS, ...options.config }),
  };
}

const ALWAYS: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.askPass': '',
  'credential.helper': '',
  'fetch.recurseSubmodules': 'false',
  'submodule.recurse': 'false',
  // A pack for every fetch: loose objects would be as many files, and their size is harder to bound.
  'fetch.unpackLimit': '1',
  'transfer.unpackLimit': '1',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'protocol.ext.allow': 'never',
};

/** Configuration by the environment: unlike `-c` it takes keys with an equals sign, and it shows in no argv. */
function asConfig(config: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(config);
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(entries.length)],
    ...entries.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]) as Record<string, string>;
}
