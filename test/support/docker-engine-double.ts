import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { containerPids, killQuietly, writeHostAlias } from './container-process.js';

export interface DoubleImage {
  readonly env?: readonly string[];
  /** Has no dynamic loader that our Node could use. */
  readonly isMusl?: boolean;
}

/** What a registry says when something is pulled: an image, or why not. */
export type RegistryAnswer =
  | { readonly image: DoubleImage; readonly after?: Promise<void> }
  | { readonly status: number; readonly message: string }
  | { readonly streamed: string };

export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

// Tests look into JSON of many shapes.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any;

interface Container {
  readonly id: string;
  readonly name: string;
  readonly specification: Json;
  readonly image: DoubleImage;
  readonly root: string;
  readonly stdin: Buffer[];
  readonly attached: Set<Duplex>;
  readonly ended: (() => void)[];
  child: ChildProcess | null;
  marker: string;
  state: 'created' | 'running' | 'exited';
  exitCode: number;
  isOutOfMemory: boolean;
}

const NEWEST = '1.47';
const OLDEST = '1.24';
/**
 * Speaks the part of the Docker Engine's interface that Headrace uses, on a Unix socket. A container is a process of
 * this machine: what its entry point names is looked up in its mounts, and `/headrace` is its own directory.
 */
export class DockerEngineDouble {
  readonly directory = mkdtempSync(join(tmpdir(), 'headrace-docker-'));
  readonly socket = join(this.directory, 'docker.sock');
  readonly images = new Map<string, DoubleImage>();
  readonly registry = new Map<string, RegistryAnswer>();
  readonly asked: AskedRequest[] = [];
  readonly containers = new Map<string, Container>();
  /** Everything that was ever sent to a container's standard input. */
  readonly handedOver: string[] = [];
  /** OCI runtimes in the configuration of the engine. */
  readonly runtimes = new Set(['runc']);
  processors = 2;
  version = '27.0.0-double';
  /** Address of the machine in every network. */
  readonly gateway = '172.17.0.1';
  private server: Server | null = null;

  get host(): string {
    return `unix://${this.socket}`;
  }

  async up(): Promise<void> {
    rmSync(this.socket, { force: true });
    const server = createServer((request, response) => {
      this.answer(request, response).catch((error: unknown) => refuse(response, 500, String(error)));
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex) => this.attach(request, socket));
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.socket, resolve));
  }

  /** The engine is gone; its containers continue, as with live restore, or end with it. */
  async down({ keepsContainers = true } = {}): Promise<void> {
    const { server } = this;
    this.server = null;
    for (const container of this.containers.values()) for (const socket of container.attached) socket.destroy();
    if (!keepsContainers) for (const container of this.containers.values()) this.kill(container, 'SIGKILL');
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
    rmSync(this.socket, { force: true });
  }

  async close(): Promise<void> {
    for (const container of this.containers.values()) this.kill(container, 'SIGKILL');
    await this.down();
    rmSync(this.directory, { recursive: true, force: true });
  }

  get running(): Container[] {
    return [...this.containers.values()].filter(({ state }) => state === 'running');
  }

  /** As the kernel does it to the whole container. */
  runOutOfMemory(container: Container): void {
    container.isOutOfMemory = true;
    this.kill(container, 'SIGKILL');
  }

  /** The processes of a container, as far as they carry its execution's marker, and its first one. */
  pidsOf({ child, marker }: Container): number[] {
    return containerPids(child, marker);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', path, query, version } = routed(request);
    const body = await bodyOf(request);
    this.asked.push({ method, path, query, body, headers: request.headers });
    if (version !== null && Number(version.split('.')[1]) > Number(NEWEST.split('.')[1]))
      return refuse(response, 400, `client version ${version} is too new. Maximum supported API version is ${NEWEST}`);
    const route = `${method} ${path}`;
    if (route === 'GET /_ping') return void response.end('OK');
    if (route === 'GET /version')
      return reply(response, 200, { Version: this.version, ApiVersion: NEWEST, MinAPIVersion: OLDEST });
    if (route === 'GET /info') return reply(response, 200, { NCPU: this.processors, OSType: 'linux' });
    if (method === 'GET' && path.startsWith('/networks/'))
      return reply(response, 200, { IPAM: { Config: [{ Subnet: '172.17.0.0/16', Gateway: this.gateway }] } });
    if (route === 'POST /images/create') return this.pull(query, response);
    const [, image] = /^GET \/images\/(.+)\/json$/.exec(route) ?? [];
    if (image !== undefined) return this.inspectImage(image, response);
    if (route === 'GET /containers/json') return this.list(query, response);
    if (route === 'POST /containers/create') return this.create(query, body, response);
    const [, verb, id, part] = /^(\w+) \/containers\/([^/]+)\/?(\w*)$/.exec(route) ?? [];
    const container = this.find(id ?? '');
    if (!container) return refuse(response, 404, `No such container: ${id ?? path}`);
    return this.onContainer(container, `${verb ?? ''} ${part ?? ''}`.trim(), query, response);
  }

  private async onContainer(
    container: Container,
    what: string,
    query: URLSearchParams,
    response: ServerResponse,
  ): Promise<void> {
    switch (what) {
      case 'PUT archive':
        mkdirSync(join(container.root, 'headrace'), { recursive: true });
        return void response.writeHead(200).end();
      case 'POST start':
        this.start(container);
        return void response.writeHead(204).end();
      case 'POST kill':
        if (container.state !== 'running') return refuse(response, 409, `Container ${container.id} is not running`);
        this.kill(container, (query.get('signal') ?? 'SIGKILL') as NodeJS.Signals);
        return void response.writeHead(204).end();
      case 'POST wait':
        response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
        if (container.state === 'running') await new Promise<void>((resolve) => container.ended.push(resolve));
        return void response.end(JSON.stringify({ StatusCode: container.exitCode }));
      case 'GET json':
        return reply(response, 200, {
          Id: container.id,
          State: {
            Status: container.state,
            Running: container.state === 'running',
            ExitCode: container.exitCode,
            OOMKilled: container.isOutOfMemory,
            Error: '',
          },
        });
      case 'DELETE':
        if (container.state === 'running') {
          const gone = new Promise<void>((resolve) => container.ended.push(resolve));
          this.kill(container, 'SIGKILL');
          await gone;
        }
        rmSync(container.root, { recursive: true, force: true });
        this.containers.delete(container.id);
        return void response.writeHead(204).end();
      default:
        return refuse(response, 404, `page not found: ${what}`);
    }
  }

  private async pull(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const [name, tag] = [query.get('fromImage') ?? '', query.get('tag') ?? ''];
    const reference = tag.includes(':') ? `${name}@${tag}` : `${name}:${tag}`;
    const answer = this.registry.get(reference);
    if (!answer) {
      const detail = `pull access denied for ${name}, repository does not exist or may require 'docker login'`;
      return refuse(response, 404, detail);
    }
    if ('status' in answer) return refuse(response, answer.status, answer.message);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(`${JSON.stringify({ status: `Pulling from ${name}`, id: tag })}\r\n`);
    if ('streamed' in answer)
      return void response.end(
        `${JSON.stringify({ errorDetail: { message: answer.streamed }, error: answer.streamed })}\r\n`,
      );
    await answer.after;
    this.images.set(reference, answer.image);
    if (tag === 'latest') this.images.set(name, answer.image);
    response.end(`${JSON.stringify({ status: 'Status: Downloaded newer image' })}\r\n`);
  }

  private inspectImage(reference: string, response: ServerResponse): void {
    const image = this.images.get(reference);
    if (!image) return refuse(response, 404, `No such image: ${reference}`);
    reply(response, 200, { Id: `sha256:${reference}`, Config: { Env: image.env ?? [] } });
  }

  private list(query: URLSearchParams, response: ServerResponse): void {
    const { label = [] } = JSON.parse(query.get('filters') ?? '{}') as { label?: string[] };
    const listed = [...this.containers.values()].filter(({ specification }) =>
      label.every((name) => name in (specification.Labels as object)),
    );
    const rows = listed.map(({ id, state, specification }) => ({ Id: id, State: state, Labels: specification.Labels }));
    reply(response, 200, rows);
  }

  private create(query: URLSearchParams, body: string, response: ServerResponse): void {
    const specification: Json = JSON.parse(body);
    const name = query.get('name') ?? '';
    const image = this.images.get(String(specification.Image).replace('sha256:', ''));
    if (!image) return refuse(response, 404, `No such image: ${specification.Image}`);
    if (this.find(name)) return refuse(response, 409, `Conflict. The container name "/${name}" is already in use`);
    const { Runtime: runtime } = specification.HostConfig;
    if (runtime !== undefined && !this.runtimes.has(runtime))
      return refuse(response, 400, `unknown or invalid runtime name: ${runtime}`);
    for (const { Type, Source } of specification.HostConfig.Mounts as { Type: string; Source: string }[])
      if (Type === 'bind' && !existsSync(Source))
        return refuse(
          response,
          400,
          `invalid mount config for type "bind": bind source path does not exist: ${Source}`,
        );
    const id = randomBytes(32).toString('hex');
    const root = join(this.directory, id);
    mkdirSync(root);
    this.containers.set(id, {
      ...{ id, name, specification, image, root, stdin: [], attached: new Set(), ended: [], child: null, marker: '' },
      ...{ state: 'created', exitCode: 0, isOutOfMemory: false },
    });
    reply(response, 201, { Id: id, Warnings: [] });
  }

  private attach(request: IncomingMessage, socket: Duplex): void {
    const { method, path, query } = routed(request);
    this.asked.push({ method, path, query, body: '', headers: request.headers });
    const [, id] = /^\/containers\/([^/]+)\/attach$/.exec(path) ?? [];
    const container = this.find(id ?? '');
    if (!container) return void socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    container.attached.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => container.attached.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      this.handedOver.push(chunk.toString());
      container.stdin.push(chunk);
      this.feed(container);
    });
  }

  /** The hand-over reaches the process with paths of a separate root. */
  private feed(container: Container): void {
    const text = Buffer.concat(container.stdin).toString();
    if (!container.child || !text.includes('\n')) return;
    container.stdin.length = 0;
    const handover: Json = JSON.parse(text);
    container.marker = handover.marker;
    const own = { ...handover, workspace_dir: join(container.root, handover.workspace_dir) };
    container.child.stdin?.write(`${JSON.stringify(own)}\n`);
  }

  private start(container: Container): void {
    const { specification, image, root } = container;
    const mounts = specification.HostConfig.Mounts as { Source: string; Target: string }[];
    const outside = (path: string): string => {
      const mount = mounts.find(({ Target }) => path === Target || path.startsWith(`${Target}/`));
      return mount ? mount.Source + path.slice(mount.Target.length) : join(root, path);
    };
    const [program = '', script = ''] = specification.Entrypoint as string[];
    const preload = join(root, 'names.cjs');
    const hosts = specification.HostConfig.ExtraHosts as string[];
    const knowsMachine = hosts.includes('host.docker.internal:host-gateway');
    const env = Object.fromEntries(
      [...(image.env ?? []), ...(specification.Env as string[])].map((line) => [
        line.slice(0, line.indexOf('=')),
        line.slice(line.indexOf('=') + 1),
      ]),
    ) as Record<string, string>;
    const [command, args] = image.isMusl
      ? ['/bin/sh', ['-c', 'echo "exec /opt/headrace/bin/node failed: No such file or directory" >&2; exit 127']]
      : [
          outside(program),
          [
            ...(knowsMachine ? ['-r', writeHostAlias(preload, 'host.docker.internal')] : []),
            outside(script),
            ...(specification.Cmd as string[]),
          ],
        ];
    const child = spawn(command, args, { env: { PATH: process.env.PATH, ...env }, cwd: root, detached: true });
    container.child = child;
    container.state = 'running';
    for (const [index, stream] of [child.stdout, child.stderr].entries())
      stream.on('data', (chunk: Buffer) => {
        for (const socket of container.attached) socket.write(Buffer.concat([frameHeader(index + 1, chunk), chunk]));
      });
    child.stdin.on('error', () => undefined);
    child.once('error', () => this.end(container, 127));
    child.once('close', (code, signal) => this.end(container, code ?? (signal === 'SIGKILL' ? 137 : 143)));
    this.feed(container);
  }

  private end(container: Container, exitCode: number): void {
    if (container.state === 'exited') return;
    // Nothing outlives the first process of a container.
    for (const pid of this.pidsOf(container)) killQuietly(pid);
    container.state = 'exited';
    container.exitCode = exitCode;
    for (const socket of container.attached) socket.end();
    for (const resolve of container.ended.splice(0)) resolve();
  }

  private kill(container: Container, signal: NodeJS.Signals): void {
    if (signal !== 'SIGKILL') container.child?.kill(signal);
    else for (const pid of this.pidsOf(container)) killQuietly(pid);
  }

  private find(id: string): Container | undefined {
    return this.containers.get(id) ?? [...this.containers.values()].find(({ name }) => name === id);
  }
}

function routed({ url = '/', method = '' }: IncomingMessage): {
  method: string;
  path: string;
  query: URLSearchParams;
  version: string | null;
} {
  const { pathname, searchParams } = new URL(url, 'http://docker');
  const [, version = null, path = pathname] = /^\/v(\d+\.\d+)(\/.*)$/.exec(pathname) ?? [];
  return { method, path, query: searchParams, version };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('latin1');
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  reply(response, status, { message });
}

function frameHeader(stream: number, { length }: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(length, 4);
  return header;
}
