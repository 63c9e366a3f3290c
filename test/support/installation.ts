import { createHash } from 'node:crypto';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '#testing';
import { FLAGS_OF_SHORT_PROCESSES } from './node-flags.js';
import { placeReadyDatabase } from './ready-database.js';

/** The command line as it is built. */
export const MAIN = fileURLToPath(new URL('../../dist/headrace.cjs', import.meta.url));

export interface Connection {
  base_url: string;
  ingress_base_url: string;
  token: string;
  service_account_token: string;
  team_uid: string;
  factory_uid: string;
}

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface Answer {
  status: number;
  // Tests look into JSON of many shapes.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
  headers: Headers;
}

/** A process of ours, whose output can be waited for. */
export class Program {
  readonly output: string[] = [];
  readonly exited: Promise<number | string>;
  private readonly watchers = new Set<() => void>();

  constructor(
    readonly child: ChildProcess,
    readonly label: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output.push(chunk.toString());
        for (const watcher of this.watchers) watcher();
      });
    }
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        resolve(code ?? signal ?? 'unknown');
        for (const watcher of this.watchers) watcher();
      });
    });
  }

  get text(): string {
    return this.output.join('');
  }

  /** Resolves when the output holds `needle`; rejects with the output when the process ends or time runs out first. */
  async says(needle: string, timeoutMs = 40_000): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => finish(new Error(`${this.label} did not say "${needle}" in ${timeoutMs} ms:\n${this.text}`)),
        timeoutMs,
      );
      const finish = (error?: Error): void => {
        clearTimeout(timer);
        this.watchers.delete(look);
        if (error) reject(error);
        else resolve();
      };
      const look = (): void => {
        if (this.text.includes(needle)) finish();
        else if (this.child.exitCode !== null || this.child.signalCode !== null)
          finish(new Error(`${this.label} ended before "${needle}":\n${this.text}`));
      };
      this.watchers.add(look);
      look();
    });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    return this.exited;
  }

  /** Rejects with the output when the process does not end with 0. */
  async stopCleanly(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const code = await this.stop(signal);
    if (code !== 0) throw new Error(`${this.label} ended with ${code}:\n${this.text}`);
  }
}

/** The users of agents are derived from it: tests that run at the same time must not end the processes of each other. */
const secretsKeyFor = (databaseUrl: string): string => createHash('sha256').update(databaseUrl).digest('hex');

/**
 * A whole installation as its users start it: real processes of the build, real embedded PostgreSQL, a data directory of its
 * own, in which the database has its schema already.
 */
export class Installation {
  private constructor(
    readonly dataDir: string,
    readonly environment: Record<string, string>,
    private readonly account: Account | null,
  ) {}

  /** @param account of its processes; only root can name one. */
  static async create(settings: Record<string, string> = {}, account: Account | null = null): Promise<Installation> {
    const dataDir = mkdtempSync(join(tmpdir(), 'headrace-test-'));
    // As root, PostgreSQL and agents have their own users: what is theirs stays below this directory when they may pass.
    chmodSync(dataDir, 0o711);
    const [port, ingressPort] = [await freePort(), await freePort()];
    if (settings.DATABASE_URL === undefined) await placeReadyDatabase(join(dataDir, 'data'), MAIN);
    if (account) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, dataDir]);
    const environment = {
      PATH: process.env.PATH ?? '',
      HOME: dataDir,
      LANG: 'C.UTF-8',
      HEADRACE_DATA_DIR: join(dataDir, 'data'),
      PORT: String(port),
      INGRESS_PORT: String(ingressPort),
      LEASE_TTL: '3s',
      CANCEL_ESCALATION_DELAY: '1s',
      SHUTDOWN_GRACE: '2s',
      GIT_ALLOW_PRIVATE: 'loopback',
      ...(settings.DATABASE_URL !== undefined && { SECRETS_KEY: secretsKeyFor(settings.DATABASE_URL) }),
      // Tests find the runner of an execution among the children of the processor.
      WARM_RUNNERS: '0',
      // Opening a connection takes more processor time than most statements of a test.
      DATABASE_POOL_SIZE: '6',
      QUEUE_POOL_SIZE: '6',
      ...settings,
    };
    return new Installation(join(dataDir, 'data'), environment, account);
  }

  get connection(): Connection {
    return JSON.parse(readFileSync(join(this.dataDir, 'connection.json'), 'utf8')) as Connection;
  }

  /** Starts `headrace up` and waits until it is ready. */
  async up(): Promise<Program> {
    const program = this.start('up');
    await program.says('Headrace is ready.');
    return program;
  }

  /** Starts one command of the command line with this installation's settings. */
  start(command: string, extra: Record<string, string> = {}): Program {
    const child = spawn(process.execPath, [...FLAGS_OF_SHORT_PROCESSES, MAIN, command], {
      env: { ...this.environment, ...extra },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...this.account,
    });
    return new Program(child, command);
  }

  /** Runs a shell script in which `headrace` is the command line with this installation's settings. Rejects when it fails. */
  async shell(script: string, directory: string): Promise<string> {
    const headrace = `headrace() { '${process.execPath}' '${MAIN}' "$@"; }`;
    const child = spawn('bash', ['-euo', 'pipefail', '-c', `${headrace}\n${script}`], {
      env: this.environment,
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const program = new Program(child, 'bash');
    const code = await program.exited;
    if (code !== 0) throw new Error(`${script}\nended with ${code}:\n${program.text}`);
    return program.text;
  }

  async call(method: string, path: string, body?: unknown, token = this.connection.token): Promise<Answer> {
    return this.callAt(method, path, body, token);
  }

  /** For installations of separate processes, which write no connection.json. */
  async callAt(method: string, path: string, body: unknown, token: string): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.environment.PORT}/api/v1${path}`, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text.startsWith('{') || text.startsWith('"') || text.startsWith('[') ? JSON.parse(text) : text,
      headers: response.headers,
    };
  }

  async createRun(prompt: string, fields: object = {}): Promise<string> {
    const answer = await this.call('POST', '/agent/runs', { prompt, ...fields });
    if (answer.status !== 200)
      throw new Error(`The run was not created: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.run_id as string;
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  async run(runId: string): Promise<any> {
    return (await this.call('GET', `/agent/runs/${runId}`)).body;
  }

  /** Polls until the run is in one of the states; rejects with its timeline when it takes longer. Survives a service that is away. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  async waitFor(runId: string, states: readonly string[], timeoutMs = 60_000, token?: string): Promise<any> {
    let last: unknown = null;
    const look = async () => {
      const { status, body } = await this.call('GET', `/agent/runs/${runId}`, undefined, token).catch(
        (error: unknown) => ({ status: 0, body: String(error) }),
      );
      last = body;
      return status === 200 && states.includes(body.state) && body;
    };
    return until(look, timeoutMs, `Run ${runId} ${states.join(' or ')}`).catch((error: unknown) => {
      throw new Error(`${String(error)} Last: ${JSON.stringify(last)}`, { cause: error });
    });
  }

  remove(): void {
    rmSync(join(this.dataDir, '..'), { recursive: true, force: true });
  }
}

/** What others than the user have said: the prompt contains the words that an agent is waited for. */
export function answersIn({ steps = [] }: { readonly steps?: readonly { messages: { role: string }[] }[] }): string {
  return JSON.stringify(steps.flatMap(({ messages }) => messages.filter(({ role }) => role !== 'user')));
}

export { until };

/** One step of polling something outside this process that has no signal to wait on. */
export function tick(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Below the range that outgoing connections are given, so that a port stays free; each process of the tests has a part of it. */
const PORTS = { first: 12_000, parts: 6, ofPart: 3_000 };
const firstPort = PORTS.first + (Number(process.env.VITEST_POOL_ID ?? 0) % PORTS.parts) * PORTS.ofPart;
let lastPort = Math.floor(Math.random() * PORTS.ofPart);

/** A port that nobody listens on, and that this process does not return again soon. */
export async function freePort(): Promise<number> {
  for (;;) {
    lastPort = (lastPort + 1) % PORTS.ofPart;
    const port = firstPort + lastPort;
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

export interface ProcessFacts {
  pid: number;
  parent: number;
  argv: string[];
}

/** The processes of this machine, from /proc. */
export function processes(): ProcessFacts[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => factsOf(Number(name)));
}

/** The one process of this number, or none. */
function factsOf(pid: number): ProcessFacts[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z') return [];
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .filter((part) => part !== '');
    return [{ pid, parent: Number(fields[1]), argv }];
  } catch {
    return []; // ended between the two looks
  }
}

export function descendants(root: number): ProcessFacts[] {
  const all = processes();
  const found: ProcessFacts[] = [];
  for (let level = [root]; level.length > 0;) {
    const children = all.filter(({ parent }) => level.includes(parent));
    found.push(...children);
    level = children.map(({ pid }) => pid);
  }
  return found;
}

export function isAlive(pid: number): boolean {
  return factsOf(pid).length > 0;
}

/** Runner processes that this process started. */
export function runnersOf(parent: number): ProcessFacts[] {
  return processes().filter(
    (candidate) => candidate.parent === parent && / agent run( --reuse)?$/.test(candidate.argv.join(' ')),
  );
}
