import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { inDirectoryOf } from '#platform/kernel';
import { settlesWithin } from '../retry.js';
import { killTree } from './sweep.js';

export interface ProcessExit {
  /** null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface ManagedProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: 'pipe' | 'ignore';
  readonly runAs?: { readonly uid: number; readonly gid: number } | undefined;
  /** The user to whom the process changes itself. Default: that of `runAs`. */
  readonly laterUid?: number | undefined;
}

/** A child process that leads its own process group and session, so that the whole group can be signalled. */
export class ManagedProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly pid: number,
    /** Resolves when the process itself has ended; children of it may live on. */
    readonly exited: Promise<ProcessExit>,
  ) {}

  /** Rejects with the system's error (`ENOENT`, `EACCES` …) when the command cannot be started. */
  static async start(options: ManagedProcessOptions): Promise<ManagedProcess> {
    const { command, args, cwd, env, stdin, runAs, laterUid = runAs?.uid } = options;
    const start = (directory: string): ChildProcess =>
      spawn(command, [...args], { cwd: directory, env, detached: true, stdio: [stdin, 'pipe', 'pipe'], ...runAs });
    const child = laterUid === undefined ? start(cwd) : inDirectoryOf(laterUid, cwd, start);
    const exited = new Promise<ProcessExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    // Writing to a process that has just died must not end the runner.
    child.stdin?.on('error', () => undefined);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.on('error', () => undefined); // a signal that could not be sent: the caller waits for the exit
    if (child.pid === undefined) throw new Error(`${command} was started without a process id.`);
    return new ManagedProcess(child, child.pid, exited);
  }

  get stdin(): Writable {
    return stream(this.child.stdin);
  }

  get stdout(): Readable {
    return stream(this.child.stdout);
  }

  get stderr(): Readable {
    return stream(this.child.stderr);
  }

  get hasExited(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  signal(signal: NodeJS.Signals): void {
    killTree(this.pid, signal);
  }

  exitsWithin(ms: number, abort?: AbortSignal): Promise<boolean> {
    return settlesWithin(this.exited, ms, abort);
  }
}

/** Calls `onChunk` for the output of both streams; resolves when both are closed. */
export async function readOutput(streams: readonly Readable[], onChunk: (chunk: Buffer) => void): Promise<void> {
  const closed = streams.map((stream) => {
    stream.on('data', onChunk);
    return new Promise<void>((resolve) => stream.once('close', resolve));
  });
  await Promise.all(closed);
}

/** As a shell counts: 128 + signal for a killed process. */
export function exitCodeOf({ code, signal }: ProcessExit): number {
  return code ?? (signal === null ? 1 : 128 + constants.signals[signal]);
}

export function describeExit({ code, signal }: ProcessExit): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`;
}

function stream<T>(value: T | null): T {
  if (value === null) throw new Error('The process was started without this stream.');
  return value;
}

/** Keeps the last `maxBytes` of a byte stream; as text it never starts inside a character. */
export class TailBuffer {
  private chunks: Buffer[] = [];
  private kept = 0;
  private total = 0;

  constructor(private readonly maxBytes: number) {}

  append(chunk: Buffer): void {
    this.total += chunk.length;
    this.chunks.push(chunk);
    this.kept += chunk.length;
    // Trim whole chunks only once twice too much is kept: appending stays cheap.
    if (this.kept > 2 * this.maxBytes) this.compact();
  }

  get truncated(): boolean {
    return this.total > this.maxBytes;
  }

  toString(): string {
    this.compact();
    const bytes = this.chunks[0] ?? Buffer.alloc(0);
    let start = 0;
    if (this.truncated) while (start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return bytes.toString('utf8', start);
  }

  private compact(): void {
    const all = Buffer.concat(this.chunks);
    const tail = all.subarray(Math.max(0, all.length - this.maxBytes));
    // A copy, so that the large buffer behind the slice can be collected.
    this.chunks = [Buffer.from(tail)];
    this.kept = tail.length;
  }
}
