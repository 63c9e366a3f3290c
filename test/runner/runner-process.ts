import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Assignment, RunnerHandover } from '#execution/runner-protocol';
import { ControlPlaneDouble } from '#testing';
import { TOOL_NOTICE } from '../../libs/execution/runner/src/tools/run-tools.js';
import { isLong } from '../support/long-tests.js';

export const isRoot = process.getuid?.() === 0;

const OWN_USER = ['the runner’s own user', false] as const;
const SEPARATE_USER = ['a separate user', true] as const;
/** The users that an agent can have here, with the value of `ownUser`. */
export const ALL_USERS = isRoot ? [OWN_USER, SEPARATE_USER] : [OWN_USER];
/** As root, only the separate user in the short tests: most other tests have the runner's own one. */
export const AGENT_USERS = isRoot && !isLong ? [SEPARATE_USER] : ALL_USERS;
export const mainProgram = fileURLToPath(new URL('../../dist/headrace.cjs', import.meta.url));

export interface StartOptions {
  readonly assignment?: Partial<Assignment>;
  readonly handover?: Partial<RunnerHandover>;
  readonly limits?: Partial<RunnerHandover['limits']>;
  /** Run set-up commands and agent as an own user; only root can. */
  readonly ownUser?: boolean;
  /** Prepares the double before the runner starts. */
  readonly prepare?: (plane: ControlPlaneDouble) => void;
}

/** A real runner process of the built program against a double of the control plane. */
export class RunnerProcess {
  private constructor(
    readonly plane: ControlPlaneDouble,
    readonly child: ChildProcess,
    readonly handover: RunnerHandover,
    private readonly directory: string,
    private readonly log: string[],
    readonly exited: Promise<number | null>,
  ) {}

  static async start({
    assignment,
    handover = {},
    limits = {},
    ownUser = false,
    prepare,
  }: StartOptions = {}): Promise<RunnerProcess> {
    if (!existsSync(mainProgram)) throw new Error('Build first: npm run build');
    const plane = await ControlPlaneDouble.start(assignment);
    prepare?.(plane);
    const directory = await mkdtemp(join(tmpdir(), 'headrace-runner-'));
    await chmod(directory, 0o711);
    const uid = randomInt(300_000, 1_000_000);
    const given: RunnerHandover = {
      base_url: plane.baseUrl,
      execution_id: plane.assignment.execution_id,
      token: plane.token,
      workspace_dir: join(directory, 'workspace'),
      marker: randomBytes(16).toString('hex'),
      ...(ownUser ? { run_as: { uid, gid: uid } } : {}),
      limits: {
        max_workspace_bytes: 1_000_000_000,
        max_output_bytes: 50_000_000,
        setup_command_timeout_seconds: 30,
        cancel_step_seconds: 2,
        ...limits,
      },
      ...handover,
    };
    // A stranger's secret in the runner's own environment: nothing below may see it.
    const env = { PATH: process.env['PATH'], STRANGERS_SECRET: 'not-for-agents' };
    const child = spawn(process.execPath, [mainProgram, 'agent', 'run'], {
      env,
      stdio: ['pipe', 'ignore', 'pipe'],
      cwd: directory,
    });
    const log: string[] = [];
    child.stderr?.on('data', (chunk: Buffer) => log.push(chunk.toString()));
    const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
    child.stdin?.write(`${JSON.stringify(given)}\n`);
    return new RunnerProcess(plane, child, given, directory, log, exited);
  }

  get logged(): string {
    return this.log.join('');
  }

  get work(): string {
    return join(this.handover.workspace_dir, 'work');
  }

  get workspaceIsGone(): boolean {
    return !existsSync(this.handover.workspace_dir);
  }

  /** Pids of living processes that carry the execution's marker. */
  marked(): number[] {
    return pidsWith((pid) => {
      const environ = readFileSync(`/proc/${pid}/environ`, 'latin1');
      return environ.includes(`HEADRACE_EXECUTION_MARKER=${this.handover.marker}`);
    });
  }

  /** Ends an idle session and waits for the end. */
  async close(): Promise<number | null> {
    this.plane.want('close');
    return this.exited;
  }

  async dispose(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    for (const pid of this.marked()) killIfThere(pid);
    await this.plane.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** What was found a moment ago may have ended by itself. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Pids of living processes (no zombies) that fulfil a condition; what cannot be read does not. */
export function pidsWith(condition: (pid: number) => boolean): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2)) && condition(pid);
      } catch {
        return false;
      }
    });
}

export const fence = (info: string, body = ''): string => `\`\`\`${info}\n${body === '' ? '' : `${body}\n`}\`\`\``;
/** The first prompt of a session, as the agent gets it. */
export const withToolNotice = (text: string): string => `${TOOL_NOTICE}\n\n${text}`;
export const prompt = (...blocks: string[]): string => blocks.join('\n\n');
