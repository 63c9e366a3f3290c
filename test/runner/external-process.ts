import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { mainProgram } from './runner-process.js';

export interface ExternalOptions {
  readonly url: string;
  readonly token: string;
  /** Of `headrace agent`. */
  readonly command?: 'run' | 'resume';
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** `agent run --prompt …` or `agent resume …` as a person starts it in a directory of theirs. */
export class ExternalProcess {
  output = '';
  errors = '';

  private constructor(
    readonly child: ChildProcess,
    /** The person's directory, in which the command is started. */
    readonly cwd: string,
    readonly home: string,
    private readonly tmp: string,
    readonly exited: Promise<number | NodeJS.Signals | null>,
  ) {}

  static async start({ url, token, command = 'run', args, env = {} }: ExternalOptions): Promise<ExternalProcess> {
    const make = (name: string): Promise<string> => mkdtemp(join(tmpdir(), `headrace-${name}-`));
    const [cwd, home, tmp] = await Promise.all([make('project'), make('home'), make('tmp')]);
    const child = spawn(process.execPath, [mainProgram, 'agent', command, ...args], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        TMPDIR: tmp,
        HEADRACE_URL: url,
        HEADRACE_TOKEN: token,
        HEADRACE_DATA_DIR: join(home, 'none'),
        ...env,
      },
    });
    const exited = new Promise<number | NodeJS.Signals | null>((resolve) =>
      child.once('close', (code, signal) => resolve(code ?? signal)),
    );
    const external = new ExternalProcess(child, cwd, home, tmp, exited);
    child.stdout?.on('data', (chunk: Buffer) => (external.output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (external.errors += chunk.toString()));
    return external;
  }

  /** Of the line that the command begins with. */
  get runId(): string {
    return /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(this.output)?.[0] ?? '';
  }

  get lines(): Record<string, unknown>[] {
    const lines = this.output.trim().split('\n');
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async says(text: string): Promise<void> {
    await vi.waitFor(() => {
      if (!this.output.includes(text)) throw new Error(`It has not said "${text}":\n${this.output}\n${this.errors}`);
    }, 25_000);
  }

  leftInTmp(): Promise<string[]> {
    return readdir(this.tmp);
  }

  async dispose(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM');
    await this.exited;
    for (const directory of [this.cwd, this.home, this.tmp]) await rm(directory, { recursive: true, force: true });
  }
}
