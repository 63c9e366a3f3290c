import { spawnSync } from 'node:child_process';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { freePort, until } from '../support/installation.js';
import type { DockerEngineProcess } from './engine.js';

const run = promisify(execFile);
const FILE = fileURLToPath(new URL('../../deploy/compose.yaml', import.meta.url));
/** The name that the documentation gives to a restored installation. */
const RESTORED_PROJECT = 'headrace-restored';
const COMMANDS = [['docker-compose'], ['docker', 'compose']] as const;

/** Null: neither docker-compose nor the compose plugin of the Docker client is installed. */
export function composeCommand(): readonly string[] | null {
  return (
    COMMANDS.find(([program, ...args]) => spawnSync(program, [...args, 'version'], { stdio: 'ignore' }).status === 0) ??
    null
  );
}

export interface Reply {
  readonly status: number;
  // Tests look into JSON of many shapes.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

export interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request with a token. Rejects when there is no answer. */
export async function callAt(
  url: string,
  token: string,
  { method = 'GET', body, headers }: RequestOptions = {},
): Promise<Reply> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  return { status: response.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text };
}

/** The services of deploy/compose.yaml on the engine of these tests. */
export class ComposeInstallation {
  private constructor(
    private readonly engine: DockerEngineProcess,
    private readonly command: readonly string[],
    private readonly directory: string,
    readonly apiPort: number,
    readonly ingressPort: number,
  ) {}

  static async start(
    engine: DockerEngineProcess,
    command: readonly string[],
    settings: Readonly<Record<string, string>>,
  ): Promise<ComposeInstallation> {
    const directory = mkdtempSync(join(tmpdir(), 'headrace-compose-'));
    const [apiPort, ingressPort] = [await freePort(), await freePort()];
    const file = join(directory, 'compose.env');
    const values = {
      ...{ COMPOSE_PROJECT_NAME: 'headrace-test', SETTINGS_FILE: file, ENGINE_SOCKET: engine.socket },
      ...{ PORT: String(apiPort), INGRESS_PORT: String(ingressPort), ...settings },
    };
    const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(file, lines.join(''), { mode: 0o600 });
    const installation = new ComposeInstallation(engine, command, directory, apiPort, ingressPort);
    // What a test that was killed has left: the volume of the runner would have its files.
    for (const { Id: id } of await engine.containers()) await engine.docker('rm', '--force', '--volumes', id);
    for (const project of ['headrace-test', RESTORED_PROJECT])
      await installation.compose('--project-name', project, '--profile', 'worker', 'down', '--volumes');
    await installation.compose('up', '--detach');
    return installation;
  }

  /** Rejects with the output of the command when it fails. */
  compose(...args: string[]): Promise<string> {
    const [program = '', ...first] = this.command;
    return this.run(program, ...first, '--env-file', this.settingsFile, '--file', FILE, ...args);
  }

  /** Executes commands of the documentation, in which `compose` is a function. Rejects with their output when one fails. */
  shell(script: string): Promise<string> {
    const compose = `compose() { ${this.command.join(' ')} --env-file '${this.settingsFile}' --file '${FILE}' "$@"; }`;
    return this.run('bash', '-euo', 'pipefail', '-c', `${compose}\n${script}`);
  }

  get settingsFile(): string {
    return join(this.directory, 'compose.env');
  }

  private async run(program: string, ...args: string[]): Promise<string> {
    const { stdout } = await run(program, args, {
      env: { PATH: process.env.PATH, HOME: this.directory, DOCKER_HOST: this.engine.host },
      maxBuffer: 16 * 1_048_576,
    });
    return stdout;
  }

  async container(service: string): Promise<string> {
    return (await this.compose('ps', '--quiet', service)).trim().split('\n')[0] ?? '';
  }

  async untilHealthy(...services: string[]): Promise<void> {
    for (const service of services) await untilHealthy(this.engine, await this.container(service));
  }

  /** As a crash does. The engine does not start a container again that `docker kill` has ended. */
  async crash(service: string): Promise<void> {
    const container = await this.container(service);
    const before = (await this.engine.inspect(container)).State;
    process.kill(before.Pid as number, 'SIGKILL');
    const isAgain = async (): Promise<boolean> => {
      const { State: state } = await this.engine.inspect(container);
      return state.Running === true && state.StartedAt !== before.StartedAt;
    };
    await until(isAgain, 30_000, `the restart of ${service}`);
  }

  async stop(): Promise<void> {
    await this.compose('stop');
    // A container that its processor had not removed yet is removed by the next processor, and there is none. It uses the volume.
    for (const { Id: container } of await this.engine.containers())
      await this.engine.docker('rm', '--force', container);
    await this.compose('--profile', 'worker', 'down', '--volumes');
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export async function untilHealthy(engine: DockerEngineProcess, container: string): Promise<void> {
  const isHealthy = async (): Promise<boolean> => (await engine.inspect(container)).State.Health?.Status === 'healthy';
  await until(isHealthy, 90_000, `the health of ${container}`);
}
