import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, closeSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { isAlive, until } from '../support/installation.js';

const run = promisify(execFile);

/** The address of the engine's machine on the bridge network, which containers reach. */
export const BRIDGE_ADDRESS = '172.17.0.1';
/** An OCI runtime besides the default one. */
export const OTHER_RUNTIME = 'other-runc';
const PACKAGED_CLIENT = '/usr/bin/docker';
export const EXECUTION_LABEL = 'io.headrace.execution';
const START_MS = 60_000;
const STOP_MS = 60_000;

export interface Container {
  readonly Id: string;
  readonly Image: string;
  readonly State: string;
  readonly Names: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
}

/** Packages install programs in different directories. Throws when the program is not in PATH. */
export function pathOf(program: string): string {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map((directory) => join(directory, program))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${program} is not installed.`);
  return found;
}

/** A real Docker Engine, started by these tests. Every test file has an instance of the same one. */
export class DockerEngineProcess {
  readonly socket: string;
  readonly log: string;
  /** The file system of the base image; `npm run test:docker` makes it. */
  readonly baseArchive: string;
  private readonly pidFile: string;

  constructor(private readonly directory: string) {
    this.socket = join(directory, 'docker.sock');
    this.log = join(directory, 'dockerd.log');
    this.baseArchive = join(directory, 'base.tar');
    this.pidFile = join(directory, 'dockerd.pid');
  }

  /** The one of this test run. */
  static current(): DockerEngineProcess {
    const { HEADRACE_TEST_DOCKER_DIR: directory } = process.env;
    if (directory === undefined) throw new Error('Start these tests with npm run test:docker.');
    return new DockerEngineProcess(directory);
  }

  get host(): string {
    return `unix://${this.socket}`;
  }

  /** @param namespace the file of a network namespace other than the one of these tests. */
  async start(flags: readonly string[] = [], namespace?: string): Promise<void> {
    if (this.isRunning()) throw new Error('The engine is running already.');
    rmSync(this.pidFile, { force: true });
    const output = openSync(this.log, 'a');
    const [program = '', ...first] = [...(namespace ? ['nsenter', `--net=${namespace}`] : []), 'dockerd'];
    const child = spawn(
      program,
      [
        ...first,
        ...['--data-root', join(this.directory, 'data'), '--exec-root', join(this.directory, 'exec')],
        ...['--pidfile', this.pidFile, '--host', this.host],
        // Without systemd the engine creates the control groups itself.
        ...['--exec-opt', 'native.cgroupdriver=cgroupfs'],
        ...['--add-runtime', `${OTHER_RUNTIME}=${pathOf('runc')}`],
        ...flags,
      ],
      {
        env: { ...process.env, PATH: `${this.legacyIptables()}:${process.env.PATH ?? ''}` },
        stdio: ['ignore', output, output],
        detached: true,
      },
    );
    closeSync(output);
    child.unref();
    await this.untilItAnswers(child);
  }

  /** Leaves containers running, as a crash does. The containerd of the engine ends with it. */
  async kill(): Promise<void> {
    const { pid } = this;
    if (pid === null) throw new Error('The engine is not running.');
    const containerdFile = join(this.directory, 'exec/containerd/containerd.pid');
    const containerd = pidIn(containerdFile);
    process.kill(pid, 'SIGKILL');
    for (const one of [pid, containerd])
      await until(() => one === null || !isAlive(one), STOP_MS, 'the end of the engine');
    // Where nobody reaps it, the next engine would wait for it.
    rmSync(containerdFile, { force: true });
  }

  async stop(): Promise<void> {
    const { pid } = this;
    if (pid === null) return;
    process.kill(pid, 'SIGTERM');
    await until(() => !isAlive(pid), STOP_MS, 'the end of the engine');
  }

  isRunning(): boolean {
    return this.pid !== null;
  }

  version(): Promise<{ Version: string }> {
    return this.get('/version');
  }

  /** Of Headrace's executions. */
  containers(): Promise<Container[]> {
    const filters = encodeURIComponent(JSON.stringify({ label: ['io.headrace.installation'] }));
    return this.get(`/containers/json?all=1&filters=${filters}`);
  }

  /** Everything that containers may leave. */
  async leftovers(): Promise<string[]> {
    const containers = await this.get<Container[]>('/containers/json?all=1');
    const { Volumes: volumes } = await this.get<{ Volumes: { Name: string }[] | null }>('/volumes');
    return [...containers.flatMap(({ Names: names }) => names), ...(volumes ?? []).map(({ Name: name }) => name)];
  }

  // Answers of the engine have many shapes.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  inspect(container: string): Promise<any> {
    return this.get(`/containers/${container}/json`);
  }

  /**
   * The executions of which the engine starts a container from now on, in this order. It knows nothing of runs, so it is a witness of
   * how often each is executed.
   */
  async watchExecutions(): Promise<{ readonly started: readonly string[]; stop(): void }> {
    const filters = { type: ['container'], event: ['start'], label: [EXECUTION_LABEL] };
    const path = `/events?filters=${encodeURIComponent(JSON.stringify(filters))}`;
    const call = request({ socketPath: this.socket, path });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      call.on('response', resolve).on('error', reject).end();
    });
    if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode}`);
    const started: string[] = [];
    let isStopped = false;
    const onError = (error: unknown): void => {
      if (!isStopped) throw error;
    };
    response.on('error', onError);
    const lines = createInterface({ input: response }).on('error', onError);
    lines.on('line', (line) => {
      const event = JSON.parse(line) as { Actor: { Attributes: Readonly<Record<string, string>> } };
      started.push(event.Actor.Attributes[EXECUTION_LABEL] ?? '');
    });
    const stop = (): void => {
      isStopped = true;
      call.destroy();
    };
    return { started, stop };
  }

  /** Runs a command of the Docker client. Rejects with its output when it fails. */
  async docker(...args: string[]): Promise<string> {
    const { stdout } = await run('docker', args, {
      env: { ...process.env, DOCKER_HOST: this.host },
      maxBuffer: 16 * 1_048_576,
    });
    return stdout;
  }

  /** With BuildKit, which clients other than that of the package of the engine may need a plugin for. */
  async buildImage(...args: string[]): Promise<void> {
    const client = existsSync(PACKAGED_CLIENT) ? PACKAGED_CLIENT : 'docker';
    await run(client, ['build', '--progress', 'plain', ...args], {
      env: { ...process.env, DOCKER_HOST: this.host, DOCKER_BUILDKIT: '1' },
      maxBuffer: 64 * 1_048_576,
    });
  }

  private get pid(): number | null {
    const pid = pidIn(this.pidFile);
    return pid !== null && isAlive(pid) ? pid : null;
  }

  /** Where the kernel has no nf_tables, the engine needs the legacy programs under their usual names. */
  private legacyIptables(): string {
    const directory = join(this.directory, 'bin');
    mkdirSync(directory, { recursive: true });
    for (const name of ['iptables', 'ip6tables']) {
      const [legacy, link] = [`/usr/sbin/${name}-legacy`, join(directory, name)];
      if (existsSync(legacy) && !existsSync(link)) symlinkSync(legacy, link);
    }
    return directory;
  }

  private async untilItAnswers(child: ChildProcess): Promise<void> {
    const answers = (): Promise<boolean> =>
      this.version().then(
        () => true,
        () => false,
      );
    await until(async () => child.exitCode !== null || (await answers()), START_MS, 'the start of the engine');
    if (child.exitCode !== null) throw new Error(`dockerd ended with ${child.exitCode}; see ${this.log}.`);
  }

  private get<T>(path: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const call = request({ socketPath: this.socket, path, timeout: 10_000 }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => {
          if (response.statusCode === 200) resolve(JSON.parse(text) as T);
          else reject(new Error(`GET ${path}: ${response.statusCode} ${text}`));
        });
      });
      call.on('timeout', () => call.destroy(new Error('no answer')));
      call.on('error', reject);
      call.end();
    });
  }
}

function pidIn(file: string): number | null {
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}
