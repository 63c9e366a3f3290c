import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1Pod, V1Secret } from '@kubernetes/client-node';
import { containerPids, killQuietly, writeHostAlias } from './container-process.js';
import { MAIN } from './installation.js';
import { kubernetesProblems } from './kubernetes-schema.js';

// Objects of Kubernetes have many shapes.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any;

export interface KubernetesCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json;
}

/** What the node says about an image. */
export type NodeImage = 'present' | 'unknown' | 'incompatible';

interface Running {
  readonly child: ChildProcess;
  readonly marker: string;
  reason: string;
}

const NAMESPACE = 'headrace-runs';
const TOKEN = 'token-of-the-service-account';
/** How pods of the double reach this machine. */
export const POD_HOST = 'headrace-api';

/**
 * Speaks the part of the Kubernetes API that Headrace uses, over HTTP, and checks what it gets with the OpenAPI description of
 * Kubernetes. It has one node whose pods are processes of this machine.
 * A pod waits for its Secret, has an init container, runs, and ends, with the events of a watch for every step.
 */
export class KubernetesDouble {
  readonly directory = mkdtempSync(join(tmpdir(), 'headrace-kubernetes-'));
  readonly kubeconfig = join(this.directory, 'kubeconfig');
  readonly calls: KubernetesCall[] = [];
  readonly pods = new Map<string, V1Pod>();
  readonly secrets = new Map<string, V1Secret>();
  /** All secrets that were ever created. */
  readonly createdSecrets: V1Secret[] = [];
  readonly images = new Map<string, NodeImage>();
  isSchedulable = true;
  /** What the credentials do not allow, such as `create pods`. */
  readonly forbidden = new Set<string>();
  /** Rejects the creation of pods with this message. */
  quota: string | null = null;
  private readonly running = new Map<string, Running>();
  private readonly watchers = new Set<{ readonly response: ServerResponse; readonly selector: string }>();
  private history: { readonly version: number; readonly type: string; readonly object: Json }[] = [];
  private version = 1000;
  private server: Server | null = null;
  private port = 0;

  async up(): Promise<void> {
    const server = createServer((request, response) => {
      this.answer(request, response).catch((error: unknown) => refuse(response, 500, 'InternalError', String(error)));
    });
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    const cluster = {
      name: 'c',
      cluster: { server: `http://127.0.0.1:${this.port}`, 'insecure-skip-tls-verify': true },
    };
    const context = { name: 'x', context: { cluster: 'c', user: 'u', namespace: NAMESPACE } };
    writeFileSync(
      this.kubeconfig,
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
        ...{ clusters: [cluster], contexts: [context], users: [{ name: 'u', user: { token: TOKEN } }] },
      }),
      { mode: 0o600 },
    );
  }

  /** The API server is gone; its pods continue. */
  async down(): Promise<void> {
    const { server } = this;
    this.server = null;
    this.watchers.clear();
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  async close(): Promise<void> {
    for (const { child, marker } of this.running.values())
      for (const pid of containerPids(child, marker)) killQuietly(pid);
    await this.down();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Of the first process of each running pod. */
  get runnerPids(): number[] {
    return [...this.running.values()].flatMap(({ child }) => child.pid ?? []);
  }

  /** Forgets the history of watches, as the compaction of etcd does, and ends the watches. */
  compact(): void {
    this.history = [];
    this.version += 100;
    for (const { response } of this.watchers) response.end();
    this.watchers.clear();
  }

  /** As the kernel does it to all processes of the container. */
  runOutOfMemory(name: string): void {
    const running = this.running.get(name);
    if (running) running.reason = 'OOMKilled';
    this.kill(name);
  }

  /** As the kubelet does it for a node without memory or disk. */
  evict(name: string, message: string): void {
    const pod = this.pods.get(name);
    if (pod?.status) Object.assign(pod.status, { phase: 'Failed', reason: 'Evicted', message });
    this.changed('MODIFIED', pod);
    this.kill(name);
  }

  /** The node is gone with all its pods. */
  removeNode(): void {
    for (const name of [...this.pods.keys()]) {
      this.kill(name);
      this.removePod(name);
    }
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://kubernetes');
    const body = await bodyOf(request);
    const { method = '' } = request;
    this.calls.push({ method, path: url.pathname, query: url.searchParams, body });
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return refuse(response, 401, 'Unauthorized', 'Unauthorized');
    if (method === 'POST') {
      const problems = kubernetesProblems(body);
      if (problems.length > 0) return refuse(response, 422, 'Invalid', problems.join('; '));
    }
    if (url.pathname === '/version') return reply(response, 200, { gitVersion: 'v1.34.0-double' });
    if (url.pathname.endsWith('/selfsubjectaccessreviews')) {
      const { verb, resource } = body.spec.resourceAttributes;
      return reply(response, 201, { ...body, status: { allowed: !this.forbidden.has(`${verb} ${resource}`) } });
    }
    const [, kind = '', name] =
      new RegExp(`^/api/v1/namespaces/${NAMESPACE}/(pods|secrets)(?:/([^/]+))?$`).exec(url.pathname) ?? [];
    switch (`${method} ${kind}${name === undefined ? '' : '/name'}`) {
      case 'GET pods':
        return url.searchParams.get('watch') === 'true'
          ? this.watch(url.searchParams, response)
          : this.list(url.searchParams, response);
      case 'GET pods/name':
        return this.pods.has(name ?? '')
          ? reply(response, 200, this.pods.get(name ?? ''))
          : missing(response, 'pods', name);
      case 'POST pods':
        return this.createPod(body, response);
      case 'DELETE pods/name':
        return this.deletePod(name ?? '', url.searchParams, response);
      case 'POST secrets':
        return this.createSecret(body, response);
      case 'DELETE secrets/name':
        if (!this.secrets.delete(name ?? '')) return missing(response, 'secrets', name);
        return reply(response, 200, { kind: 'Status', status: 'Success' });
      default:
        return refuse(response, 403, 'Forbidden', `User cannot ${method} ${url.pathname}`);
    }
  }

  private list(query: URLSearchParams, response: ServerResponse): void {
    const items = [...this.pods.values()].filter((pod) => matches(pod, query.get('labelSelector') ?? ''));
    reply(response, 200, { kind: 'PodList', metadata: { resourceVersion: String(this.version) }, items });
  }

  private watch(query: URLSearchParams, response: ServerResponse): void {
    const from = Number(query.get('resourceVersion'));
    const selector = query.get('labelSelector') ?? '';
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    const oldest = this.history[0]?.version ?? this.version + 1;
    if (from < this.version && from < oldest - 1) {
      const gone = { kind: 'Status', code: 410, reason: 'Expired', message: `too old resource version: ${from}` };
      return void response.end(`${JSON.stringify({ type: 'ERROR', object: gone })}\n`);
    }
    for (const { version, type, object } of this.history)
      if (version > from && matches(object, selector)) response.write(`${JSON.stringify({ type, object })}\n`);
    const watcher = { response, selector };
    this.watchers.add(watcher);
    response.on('close', () => this.watchers.delete(watcher));
  }

  private createPod(body: Json, response: ServerResponse): void {
    const { name } = body.metadata;
    if (this.quota !== null) return refuse(response, 403, 'Forbidden', `pods "${name}" is forbidden: ${this.quota}`);
    if (this.pods.has(name)) return refuse(response, 409, 'AlreadyExists', `pods "${name}" already exists`);
    const pod: V1Pod = {
      ...body,
      metadata: { ...body.metadata, uid: randomUUID(), namespace: NAMESPACE },
      status: { phase: 'Pending', conditions: [] },
    };
    this.pods.set(name, pod);
    this.changed('ADDED', pod);
    reply(response, 201, pod);
    this.schedule(pod);
  }

  private createSecret(body: Json, response: ServerResponse): void {
    const { name } = body.metadata;
    if (this.secrets.has(name)) return refuse(response, 409, 'AlreadyExists', `secrets "${name}" already exists`);
    this.secrets.set(name, body);
    this.createdSecrets.push(body);
    reply(response, 201, body);
    const pod = this.pods.get(name);
    if (pod) this.schedule(pod);
  }

  private deletePod(name: string, query: URLSearchParams, response: ServerResponse): void {
    const pod = this.pods.get(name);
    if (!pod) return missing(response, 'pods', name);
    const seconds = Number(query.get('gracePeriodSeconds') ?? pod.spec?.terminationGracePeriodSeconds ?? 30);
    if (pod.metadata)
      Object.assign(pod.metadata, { deletionTimestamp: new Date(), deletionGracePeriodSeconds: seconds });
    reply(response, 200, pod);
    if (seconds === 0 || !this.running.has(name)) {
      this.kill(name);
      return this.removePod(name);
    }
    this.changed('MODIFIED', pod);
    this.running.get(name)?.child.kill('SIGTERM');
    setTimeout(() => this.kill(name), seconds * 1000).unref();
  }

  /** One step of the scheduler and of the kubelet. */
  private schedule(pod: V1Pod): void {
    const { name = '' } = pod.metadata ?? {};
    const condition = this.isSchedulable
      ? { type: 'PodScheduled', status: 'True' }
      : {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/1 nodes are available: 1 Insufficient memory.',
        };
    const secret = this.secrets.get(name);
    if (pod.status) pod.status.conditions = [condition];
    if (!this.isSchedulable || secret === undefined || this.running.has(name)) return this.changed('MODIFIED', pod);
    const [container] = pod.spec?.containers ?? [];
    const image = this.images.get(container?.image ?? '') ?? 'unknown';
    if (image === 'unknown') {
      const message = `Back-off pulling image "${container?.image}"`;
      return this.containerState(pod, { waiting: { reason: 'ImagePullBackOff', message } });
    }
    if (image === 'incompatible')
      return this.terminated(pod, 128, 'StartError', 'exec /opt/headrace/bin/node: no such file or directory');
    this.run(pod, secret);
  }

  private run(pod: V1Pod, secret: V1Secret): void {
    const { name = '' } = pod.metadata ?? {};
    const root = join(this.directory, name);
    mkdirSync(join(root, 'headrace'), { recursive: true });
    const handover: Json = JSON.parse(secret.stringData?.['handover.json'] ?? '');
    const own = { ...handover, workspace_dir: join(root, handover.workspace_dir) };
    const file = join(root, 'handover.json');
    writeFileSync(file, `${JSON.stringify(own)}\n`);
    const preload = writeHostAlias(join(root, 'names.cjs'), POD_HOST);
    const [container] = pod.spec?.containers ?? [];
    const args = container?.command?.slice(2).map((arg) => (arg.endsWith('/handover.json') ? file : arg)) ?? [];
    const env = Object.fromEntries((container?.env ?? []).map(({ name: variable, value }) => [variable, value ?? '']));
    const child = spawn(process.execPath, ['-r', preload, MAIN, ...args], {
      env: { PATH: process.env.PATH ?? '', ...env },
      cwd: root,
      stdio: 'ignore',
      detached: true,
    });
    this.running.set(name, { child, marker: handover.marker, reason: '' });
    child.once('close', (code, signal) => this.exited(pod, code ?? (signal === 'SIGKILL' ? 137 : 143)));
    this.containerState(pod, { running: { startedAt: new Date() } });
  }

  /** Files with the hand-over of a pod that runs; its runner removes the file before the agent starts. */
  get handoverFiles(): string[] {
    return [...this.running.keys()].map((name) => join(this.directory, name, 'handover.json')).filter(existsSync);
  }

  private exited(pod: V1Pod, exitCode: number): void {
    const { name = '', deletionTimestamp } = pod.metadata ?? {};
    const running = this.running.get(name);
    // Nothing outlives the first process of a container.
    this.kill(name);
    this.running.delete(name);
    rmSync(join(this.directory, name), { recursive: true, force: true });
    if (!this.pods.has(name)) return;
    this.terminated(pod, exitCode, running?.reason || (exitCode === 0 ? 'Completed' : 'Error'));
    if (deletionTimestamp !== undefined) this.removePod(name);
  }

  private terminated(pod: V1Pod, exitCode: number, reason: string, message?: string): void {
    if (pod.status && pod.status.reason !== 'Evicted') pod.status.phase = exitCode === 0 ? 'Succeeded' : 'Failed';
    this.containerState(pod, { terminated: { exitCode, reason, ...(message === undefined ? {} : { message }) } });
  }

  private containerState(pod: V1Pod, state: Json): void {
    const [container] = pod.spec?.containers ?? [];
    const common = { restartCount: 0, ready: false, imageID: '' };
    if (pod.status) {
      if (state.running !== undefined) pod.status.phase = 'Running';
      pod.status.initContainerStatuses = [
        { ...common, name: 'prepare', image: '', state: { terminated: { exitCode: 0, reason: 'Completed' } } },
      ];
      pod.status.containerStatuses = [{ ...common, name: container?.name ?? '', image: container?.image ?? '', state }];
    }
    this.changed('MODIFIED', pod);
  }

  private removePod(name: string): void {
    const pod = this.pods.get(name);
    if (!this.pods.delete(name)) return;
    for (const [key, { metadata }] of this.secrets)
      if (metadata?.ownerReferences?.some(({ uid }) => uid === pod?.metadata?.uid)) this.secrets.delete(key);
    this.changed('DELETED', pod);
  }

  private kill(name: string): void {
    const running = this.running.get(name);
    if (running) for (const pid of containerPids(running.child, running.marker)) killQuietly(pid);
  }

  private changed(type: string, pod: V1Pod | undefined): void {
    if (!pod?.metadata) return;
    this.version += 1;
    pod.metadata.resourceVersion = String(this.version);
    const object = structuredClone(pod);
    this.history.push({ version: this.version, type, object });
    for (const { response, selector } of this.watchers)
      if (matches(pod, selector)) response.write(`${JSON.stringify({ type, object })}\n`);
  }
}

/** Selectors of the form `name in (value,value)`. */
function matches({ metadata }: V1Pod, selector: string): boolean {
  const [, name = '', values = ''] = /^(\S+) in \(([^)]*)\)$/.exec(selector) ?? [];
  return selector === '' || values.split(',').includes(metadata?.labels?.[name] ?? '');
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? null : JSON.parse(text);
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, reason: string, message: string): void {
  reply(response, status, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code: status });
}

const missing = (response: ServerResponse, kind: string, name = ''): void =>
  refuse(response, 404, 'NotFound', `${kind} "${name}" not found`);
