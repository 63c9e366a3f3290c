import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { parseJson } from '#platform/kernel';
import type { HostLog } from '#execution/runner';
import {
  EngineConnection,
  type EngineRequest,
  EngineError,
  EngineUnreachable,
  isMissing,
} from './engine-connection.js';

/** The newest known version of the engine's API, and the oldest with all used features (Docker 20.10). */
const NEWEST: ApiVersion = [1, 47];
const OLDEST: ApiVersion = [1, 41];
const QUICK_MS = 10_000;
const SLOW_MS = 120_000;
/** Older engines lose `host-gateway` when they restart while containers keep running (moby 42753). */
const KEEPS_HOST_GATEWAY = 23;
const HOST_GATEWAY = 'host-gateway';

type ApiVersion = readonly [number, number];

export interface EngineInfo {
  readonly version: string;
  readonly processors: number;
  readonly os: string;
}

export interface ImageInfo {
  readonly id: string;
  readonly env: readonly string[];
}

export interface ContainerState {
  readonly isRunning: boolean;
  readonly exitCode: number;
  readonly isOutOfMemory: boolean;
  readonly error: string;
}

export interface ListedContainer {
  readonly id: string;
  /** `created`, `running`, `exited`, `dead` … */
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Calls reject with EngineUnreachable without a response, and with EngineError when the engine rejects them. */
export class DockerEngine {
  private prefix: string | null = null;
  private keepsHostGateway = true;

  constructor(private readonly connection: EngineConnection) {}

  async connect(): Promise<EngineInfo> {
    const answer = await this.connection.call({ method: 'GET', path: '/version', timeoutMs: QUICK_MS });
    const { ApiVersion: newest, MinAPIVersion: oldest, Version: version } = parsed<VersionAnswer>(answer.body);
    const theirs = versionOf(newest);
    if (!theirs) throw new EngineError(0, 'The server at DOCKER_HOST is not a Docker Engine.');
    const chosen = isOlder(theirs, NEWEST) ? theirs : NEWEST;
    if (isOlder(chosen, OLDEST))
      throw new EngineError(
        0,
        `The engine is too old: its API version is ${newest ?? ''}; at least ${OLDEST.join('.')} is required.`,
      );
    if (isOlder(chosen, versionOf(oldest) ?? OLDEST))
      throw new EngineError(
        0,
        `The engine is too new: its API versions begin at ${oldest ?? ''}; at most ${NEWEST.join('.')} is supported.`,
      );
    this.prefix = `/v${chosen.join('.')}`;
    this.keepsHostGateway = !(Number.parseInt(version ?? '', 10) < KEEPS_HOST_GATEWAY);
    const info = await this.get<{ NCPU?: number; OSType?: string }>('/info');
    return { version: version ?? 'unknown', processors: info.NCPU ?? 1, os: info.OSType ?? 'linux' };
  }

  /** The address of the engine's machine as an `ExtraHosts` entry of a container in this network. */
  async hostAddress(network: string): Promise<string> {
    if (this.keepsHostGateway) return HOST_GATEWAY;
    const { IPAM: ipam } = await this.get<{ IPAM?: { Config?: { Gateway?: string }[] | null } }>(
      `/networks/${encodeURIComponent(network)}`,
    );
    return ipam?.Config?.find(({ Gateway: gateway }) => gateway)?.Gateway ?? HOST_GATEWAY;
  }

  async ping(): Promise<void> {
    await this.connection.call({ method: 'GET', path: '/_ping', timeoutMs: QUICK_MS });
  }

  async inspectImage(reference: string): Promise<ImageInfo | null> {
    const image = await this.find<{ Id?: string; Config?: { Env?: string[] | null } }>(`/images/${reference}/json`);
    return image && { id: image.Id ?? '', env: image.Config?.Env ?? [] };
  }

  /** Resolves when the image is there. The engine's and the registry's faults, also in the middle, are EngineRefusals. */
  async pullImage(name: string, tag: string, auth: string | null, signal: AbortSignal): Promise<void> {
    const response = await this.connection.open({
      method: 'POST',
      path: `${this.prefixed()}/images/create`,
      query: { fromImage: name, tag },
      ...(auth === null ? {} : { headers: { 'x-registry-auth': auth } }),
      timeoutMs: 0,
      signal,
    });
    try {
      for await (const { error, errorDetail } of jsonLines(response)) {
        const detail = (errorDetail as { message?: unknown } | undefined)?.message ?? error;
        if (typeof detail === 'string') throw new EngineError(500, detail);
      }
    } catch (error) {
      throw error instanceof EngineError ? error : new EngineUnreachable(String(error));
    } finally {
      response.destroy();
    }
  }

  async createContainer(name: string, specification: object): Promise<string> {
    const body = await this.text({
      method: 'POST',
      path: '/containers/create',
      query: { name },
      body: specification,
      timeoutMs: SLOW_MS,
    });
    return parsed<{ Id?: string }>(body).Id ?? '';
  }

  async putArchive(id: string, directory: string, archive: Buffer): Promise<void> {
    const path = `/containers/${id}/archive`;
    await this.text({ method: 'PUT', path, query: { path: directory }, body: archive, timeoutMs: SLOW_MS });
  }

  /** Attaches to the container's standard input and its output in frames. */
  attach(id: string): Promise<{ socket: Socket; head: Buffer }> {
    return this.connection.hijack({
      method: 'POST',
      path: `${this.prefixed()}/containers/${id}/attach`,
      query: { stream: '1', stdin: '1', stdout: '1', stderr: '1' },
      timeoutMs: QUICK_MS,
    });
  }

  async startContainer(id: string): Promise<void> {
    await this.text({ method: 'POST', path: `/containers/${id}/start`, timeoutMs: SLOW_MS });
  }

  async waitContainer(id: string, signal: AbortSignal): Promise<void> {
    const path = `/containers/${id}/wait`;
    await this.text({ method: 'POST', path, query: { condition: 'not-running' }, timeoutMs: 0, signal });
  }

  async inspectContainer(id: string): Promise<ContainerState | null> {
    const container = await this.find<{ State?: ContainerAnswer }>(`/containers/${id}/json`);
    if (container === null) return null;
    const { Running = false, ExitCode = 0, OOMKilled = false, Error: error = '' } = container.State ?? {};
    return { isRunning: Running, exitCode: ExitCode, isOutOfMemory: OOMKilled, error };
  }

  /** Does nothing for a container that is not running or does not exist. */
  async signalContainer(id: string, signal: NodeJS.Signals): Promise<void> {
    await this.settled(
      { method: 'POST', path: `/containers/${id}/kill`, query: { signal }, timeoutMs: QUICK_MS },
      [404, 409],
    );
  }

  /** Kills it first and removes its anonymous volumes. A container that does not exist is not an error. */
  async removeContainer(id: string): Promise<void> {
    const query = { force: '1', v: '1' };
    await this.settled({ method: 'DELETE', path: `/containers/${id}`, query, timeoutMs: SLOW_MS }, [404, 409]);
  }

  async listContainers(label: string): Promise<ListedContainer[]> {
    const query = { all: '1', filters: JSON.stringify({ label: [label] }) };
    const body = await this.text({ method: 'GET', path: '/containers/json', query, timeoutMs: SLOW_MS });
    return parsed<ListAnswer>(body).map(({ Id, State, Labels }) => ({
      id: Id ?? '',
      state: State ?? '',
      labels: Labels ?? {},
    }));
  }

  private async get<T>(path: string): Promise<T> {
    return parsed<T>(await this.text({ method: 'GET', path, timeoutMs: QUICK_MS }));
  }

  private async find<T>(path: string): Promise<T | null> {
    try {
      return await this.get<T>(path);
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  private async settled(request: EngineRequest, accepted: readonly number[]): Promise<void> {
    try {
      await this.text(request);
    } catch (error) {
      if (!(error instanceof EngineError && accepted.includes(error.status))) throw error;
    }
  }

  private async text(request: EngineRequest): Promise<string> {
    return (await this.connection.call({ ...request, path: `${this.prefixed()}${request.path}` })).body;
  }

  private prefixed(): string {
    if (this.prefix === null) throw new EngineUnreachable('the API version has not been negotiated yet');
    return this.prefix;
  }
}

interface VersionAnswer {
  Version?: string;
  ApiVersion?: string;
  MinAPIVersion?: string;
}
type ContainerAnswer = { Running?: boolean; ExitCode?: number; OOMKilled?: boolean; Error?: string };
type ListAnswer = { Id?: string; State?: string; Labels?: Record<string, string> | null }[];

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new EngineError(0, 'The server at DOCKER_HOST is not a Docker Engine.');
  }
}

function versionOf(text: string | undefined): ApiVersion | null {
  const [, major, minor] = /^(\d+)\.(\d+)$/.exec(text ?? '') ?? [];
  return major === undefined ? null : [Number(major), Number(minor)];
}

function isOlder([major, minor]: ApiVersion, than: ApiVersion): boolean {
  return major < than[0] || (major === than[0] && minor < than[1]);
}

const MAX_LINE_BYTES = 1_048_576;

/** JSON values of a stream, one per line. Lines that are not JSON are skipped; a line that is too long is an error. */
export async function* jsonLines(stream: Readable): AsyncGenerator<Record<string, unknown>> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const value = parse(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      if (value) yield value;
    }
    if (rest.length > MAX_LINE_BYTES) throw new Error(`A line is longer than ${MAX_LINE_BYTES} bytes.`);
  }
  const last = parse(rest);
  if (last) yield last;
}

function parse(line: Buffer): Record<string, unknown> | null {
  const value = parseJson(line.toString('utf8'));
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}

const REMIND_MS = 60_000;

export class EngineMonitor {
  private info: EngineInfo | null = null;
  private remindedAt = -Infinity;

  constructor(
    private readonly engine: DockerEngine,
    private readonly address: string,
    private readonly log: HostLog,
  ) {}

  get isUp(): boolean {
    return this.info !== null;
  }

  get processors(): number {
    return this.info?.processors ?? 1;
  }

  async check(): Promise<boolean> {
    try {
      if (this.info) {
        await this.engine.ping();
        return false;
      }
      const info = await this.engine.connect();
      if (info.os !== 'linux') throw new Error(`it runs ${info.os} containers; Linux containers are required`);
      this.info = info;
    } catch (error) {
      this.markUnavailable(error);
      return false;
    }
    this.log.info(`The Docker Engine at ${this.address} is available: version ${this.info.version}.`);
    return true;
  }

  /** Reports a failed request. Runs stay in the queue until the engine is available again. */
  markUnavailable(error: unknown): void {
    const isNews = this.info !== null;
    this.info = null;
    if (!isNews && performance.now() - this.remindedAt < REMIND_MS) return;
    this.remindedAt = performance.now();
    const reason = error instanceof Error ? error.message : String(error);
    this.log.error(
      `The Docker Engine at ${this.address} (DOCKER_HOST) cannot be used: ${reason}. Runs wait in the queue until it is available.`,
    );
  }
}
