import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessSpecification {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly directory?: string;
  readonly account?: { readonly uid: number; readonly gid: number } | null;
  /** A line of output that matches says that the process serves. */
  readonly ready: RegExp;
  readonly onLine?: (line: string) => void;
}

/** An end that nobody caused. */
export interface UnexplainedExit {
  readonly name: string;
  readonly how: string;
  readonly output: readonly string[];
}

const RESTART_DELAY_MS = 300;
const MAX_RESTART_DELAY_MS = 2_000;
const KEPT_LINES = 40;

/** Runs a program, and starts it again whenever it ends, as a supervisor of an operating system does. */
export class SupervisedProcess {
  readonly unexplained: UnexplainedExit[] = [];
  starts = 0;
  private child: ChildProcess | null = null;
  private exited: Promise<void> = Promise.resolve();
  private supervision: Promise<void> = Promise.resolve();
  private isReady = false;
  private isStopping = false;
  private isExitExpected = false;
  private released: Promise<void> = Promise.resolve();
  private release: () => void = () => undefined;
  private lines: string[] = [];
  private readonly readyWaiters = new Set<() => void>();
  lastExit: number | NodeJS.Signals | null = null;

  constructor(private readonly specification: ProcessSpecification) {}

  get name(): string {
    return this.specification.name;
  }

  /** Null while it is between an end and its next start. */
  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  get ready(): boolean {
    return this.isReady;
  }

  /** The last lines of output. */
  get output(): string {
    return this.lines.join('\n');
  }

  start(): void {
    this.launch();
    this.supervision = this.supervise();
  }

  /** Resolves when it serves, after however many starts. */
  async whenReady(timeoutMs: number): Promise<void> {
    if (this.isReady) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.readyWaiters.delete(done);
        reject(new Error(`${this.name} was not ready within ${timeoutMs / 1000} s:\n${this.output}`));
      }, timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.readyWaiters.add(done);
    });
  }

  /** The next end is the test's doing. */
  expectExit(): void {
    this.isExitExpected = true;
  }

  kill(): boolean {
    if (this.child?.pid === undefined) return false;
    this.expectExit();
    return this.child.kill('SIGKILL');
  }

  /** Stops it with this signal, and does not start it again before `resume`. */
  suspend(signal: NodeJS.Signals): void {
    this.released = new Promise((resolve) => (this.release = resolve));
    this.expectExit();
    this.child?.kill(signal);
    this.isReady = false;
  }

  async resume(timeoutMs: number): Promise<void> {
    this.release();
    await this.whenReady(timeoutMs);
  }

  /** Ends it for good. Returns its exit code, or the signal that ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', killAfterMs = 60_000): Promise<number | NodeJS.Signals | null> {
    this.isStopping = true;
    this.release();
    this.child?.kill(signal);
    const timer = setTimeout(() => this.child?.kill('SIGKILL'), killAfterMs);
    await this.supervision;
    clearTimeout(timer);
    return this.lastExit;
  }

  private async supervise(): Promise<void> {
    for (let pauseMs = RESTART_DELAY_MS; ;) {
      await this.exited;
      if (this.isStopping) return;
      // A start that fails, such as one without a database, is repeated with growing pauses.
      pauseMs = this.isReady ? RESTART_DELAY_MS : Math.min(pauseMs * 1.5, MAX_RESTART_DELAY_MS);
      if (this.isReady && !this.isExitExpected)
        this.unexplained.push({ name: this.name, how: String(this.lastExit), output: [...this.lines] });
      this.isReady = false;
      this.child = null;
      await Promise.all([delay(pauseMs), this.released]);
      if (this.isStopping) return;
      this.launch();
    }
  }

  private launch(): void {
    const { command, args, environment, directory, account } = this.specification;
    this.isExitExpected = false;
    this.starts += 1;
    const child = spawn(command, args, {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...(directory === undefined ? {} : { cwd: directory }),
      ...(account ?? {}),
    });
    this.child = child;
    this.exited = new Promise((resolve) => {
      child.once('error', (error) => {
        this.lines.push(error.message);
        resolve();
      });
      child.once('exit', (code, signal) => {
        this.lastExit = code ?? signal;
        resolve();
      });
    });
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => this.readLine(line));
  }

  private readLine(line: string): void {
    this.lines.push(line);
    if (this.lines.length > KEPT_LINES) this.lines.shift();
    this.specification.onLine?.(line);
    if (!this.isReady && this.specification.ready.test(line)) {
      this.isReady = true;
      for (const done of this.readyWaiters) done();
      this.readyWaiters.clear();
    }
  }
}
