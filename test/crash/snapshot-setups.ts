import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { createTestDatabase, S3RVER_KEYS, type TestDatabase } from '#testing';
import { TestIdentities } from '../../libs/testing/src/api/identities.js';
import { PLACES, startDaemonIn } from '../support/executor-places.js';
import { killProcess } from '../chaos/process-table.js';
import { type Answer, freePort, Installation, processes, Program, runnersOf } from '../support/installation.js';
import { type DaemonPlace, daemonPlace, journalOf, killRemains, removePlace } from '../worker/daemon-process.js';

/** An installation that executes runs, and whose parts can be killed. */
export interface SnapshotSetup {
  /** What is killed in turn. */
  readonly parts: readonly string[];
  /** Of the runs. */
  readonly config: object;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** False: the part does not exist right now. It is there again when this resolves, except for runners. */
  kill(part: string): Promise<boolean>;
  close(): Promise<void>;
}

const BUCKET = 'snapshots';
const WORKER = 'kill-host';

/** False: there is no such process. */
const killFound = (found: { readonly pid: number } | undefined): boolean =>
  found !== undefined && killProcess(found.pid);

/** `headrace up`, which restarts its PostgreSQL. */
class OneServer implements SnapshotSetup {
  readonly parts = ['runner', 'server', 'database'];
  readonly config = {};

  private constructor(
    private readonly installation: Installation,
    private server: Program,
  ) {}

  static async open(settings: Record<string, string>): Promise<OneServer> {
    const installation = await Installation.create(settings);
    return new OneServer(installation, await installation.up());
  }

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.installation.call(method, path, body);
  }

  async kill(part: string): Promise<boolean> {
    if (part === 'runner') return killFound(runnersOf(this.server.child.pid ?? 0)[0]);
    if (part === 'server') {
      await this.server.stop('SIGKILL');
      this.server = await this.installation.up();
      return true;
    }
    const isDatabase = ({ argv }: { readonly argv: readonly string[] }): boolean =>
      argv[0]?.endsWith('/postgres') === true && argv.join(' ').includes(this.installation.dataDir);
    return killFound(processes().find(isDatabase));
  }

  async close(): Promise<void> {
    await this.server.stop('SIGTERM');
    this.installation.remove();
  }
}

interface Programs {
  api: Program;
  processor: Program;
  worker: Program;
  objectStore: Program;
}

/** Each part is a process. The runs are hosted, or those of the self-hosted worker. */
class SeparateProcesses implements SnapshotSetup {
  readonly parts: readonly string[];
  readonly config: object;

  private constructor(
    isHosted: boolean,
    private readonly database: TestDatabase,
    private readonly installation: Installation,
    private readonly token: string,
    private readonly port: string,
    private readonly files: DaemonPlace,
    private readonly objects: { readonly directory: string; readonly port: string },
    private readonly programs: Programs,
  ) {
    this.parts = ['runner', 'api', isHosted ? 'processor' : 'worker', 'objectStore'];
    this.config = isHosted ? {} : { worker_host: WORKER };
  }

  static async open(isHosted: boolean, settings: Record<string, string>): Promise<SeparateProcesses> {
    const database = await createTestDatabase();
    const identities = new TestIdentities(database);
    const team = await identities.team();
    const { token } = await identities.user({ [team]: 'member' });
    const files = daemonPlace((await identities.serviceAccount(team)).token);
    const port = String(await freePort());
    const objects = { directory: mkdtempSync(join(tmpdir(), 'headrace-objects-')), port: String(await freePort()) };
    const installation = await Installation.create({
      ...settings,
      PORT: port,
      DATABASE_URL: database.url,
      OBJECT_STORE_URL: `s3://${BUCKET}`,
      S3_ENDPOINT: `http://127.0.0.1:${objects.port}`,
      S3_FORCE_PATH_STYLE: 'true',
      S3_ACCESS_KEY_ID: S3RVER_KEYS.accessKeyId,
      S3_SECRET_ACCESS_KEY: S3RVER_KEYS.secretAccessKey,
    });
    const objectStore = await startObjectStore(objects);
    const [api, processor] = [await startApi(installation), await startProcessor(installation)];
    const worker = await startWorker(files, port);
    return new SeparateProcesses(isHosted, database, installation, token, port, files, objects, {
      api,
      processor,
      worker,
      objectStore,
    });
  }

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.installation.callAt(method, path, body, this.token);
  }

  async kill(part: string): Promise<boolean> {
    const { programs, installation } = this;
    const host = this.parts.includes('worker') ? programs.worker : programs.processor;
    switch (part) {
      case 'runner':
        return killFound(runnersOf(host.child.pid ?? 0)[0]);
      case 'api':
        await programs.api.stop('SIGKILL');
        programs.api = await startApi(installation);
        return true;
      case 'processor':
        await programs.processor.stop('SIGKILL');
        programs.processor = await startProcessor(installation);
        return true;
      case 'worker':
        await programs.worker.stop('SIGKILL');
        programs.worker = await startWorker(this.files, this.port);
        return true;
      default:
        await programs.objectStore.stop('SIGKILL');
        programs.objectStore = await startObjectStore(this.objects);
        return true;
    }
  }

  async close(): Promise<void> {
    const entries = journalOf(this.files);
    for (const name of ['worker', 'processor', 'api', 'objectStore'] as const)
      await this.programs[name].stop(name === 'worker' ? 'SIGKILL' : 'SIGTERM');
    killRemains(entries);
    await this.database.close();
    this.installation.remove();
    removePlace(this.files);
    rmSync(this.objects.directory, { recursive: true, force: true });
  }
}

async function startApi(installation: Installation): Promise<Program> {
  const api = installation.start('api');
  await api.says('Headrace API is ready');
  return api;
}

async function startProcessor(installation: Installation): Promise<Program> {
  const processor = installation.start('processor');
  await processor.says('Headrace processor is ready');
  return processor;
}

const startWorker = (files: DaemonPlace, port: string): Promise<Program> =>
  startDaemonIn(PLACES.process(), files, { port, workerId: WORKER });

async function startObjectStore({ directory, port }: { readonly directory: string; readonly port: string }) {
  const child = spawn(process.execPath, [join(inject('programsDir'), 'object-store-process.js')], {
    env: { PATH: process.env.PATH, BUCKET, DIRECTORY: directory, PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const program = new Program(child, 'the object store');
  await program.says('The object store is ready.');
  return program;
}

export const SNAPSHOT_SETUPS: Readonly<Record<string, (settings: Record<string, string>) => Promise<SnapshotSetup>>> = {
  'one server': (settings) => OneServer.open(settings),
  'separate processes': (settings) => SeparateProcesses.open(true, settings),
  'a self-hosted worker': (settings) => SeparateProcesses.open(false, settings),
};
