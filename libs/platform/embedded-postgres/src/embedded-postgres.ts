import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '#platform/kernel';
import { clusterDirectory, databaseUrl } from './cluster.js';
import { installedMajor } from './native-server.js';
import { PidLock, ServerUsers } from './pid-lock.js';
import { EarlierServerError, findPostmaster, type Postmaster, stopPostmaster } from './postmaster.js';
import { removeSocketDirectory } from './server-socket.js';
import { joinOrStart, restart, type RunningServer, type ServerPaths, serverPaths } from './server-startup.js';

export interface EmbeddedPostgresOptions {
  /** Holds the cluster (`postgres`, or a link to it), the password (`secrets`) and the start log (`logs`). */
  readonly dataDir: string;
  readonly log?: (level: 'info' | 'error', message: string) => void;
  /** false: nothing is forced to disk; for tests only. Default true. */
  readonly durable?: boolean;
}

interface Events {
  /** The server died and runs again. */
  restarted: [];
}

const START_LOCK_WAIT_MS = 120_000;
const WATCH_MS = 250;
const MAX_RETRY_MS = 2_000;

/**
 * A PostgreSQL server on a Unix socket, from the programs of an npm package. Starts it, or joins the one that another process of
 * the installation runs on the same data directory; starts it again on the same socket when it dies; the last process that stops it
 * shuts it down.
 */
export class EmbeddedPostgres extends EventEmitter<Events> {
  private stopping: Promise<void> | null = null;
  private restarting: Promise<void> | null = null;
  private watch: NodeJS.Timeout | undefined;
  private stopped = false;

  private constructor(
    private readonly options: EmbeddedPostgresOptions,
    private readonly paths: ServerPaths,
    private readonly users: ServerUsers,
    private server: RunningServer,
  ) {
    super();
    this.observe(server.postmaster);
  }

  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const paths = serverPaths(options.dataDir);
    const users = new ServerUsers(paths.users);
    return PidLock.during(paths.lock, START_LOCK_WAIT_MS, async () => {
      const server = await joinOrStart(paths, users.hasAny(), options.durable ?? true);
      users.join();
      const { pid, child } = server.postmaster;
      options.log?.('info', `PostgreSQL ${child ? 'started' : 'is running'} (process ${pid}).`);
      return new EmbeddedPostgres(options, paths, users, server);
    });
  }

  /** The URL of the database `headrace`, with the password; stays valid over restarts of the server. */
  get url(): string {
    return databaseUrl(this.server.cluster, this.server.postmaster.socketDirectory);
  }

  get pid(): number {
    return this.server.postmaster.pid;
  }

  /** Leaves the server, and shuts it down (fast) when no other process uses it. */
  stop(): Promise<void> {
    this.stopping ??= this.leave();
    return this.stopping;
  }

  private async leave(): Promise<void> {
    this.stopped = true;
    clearInterval(this.watch);
    await this.restarting;
    await PidLock.during(this.paths.lock, START_LOCK_WAIT_MS, async () => {
      this.users.leave();
      if (this.users.hasAny()) return;
      const running = findPostmaster(this.server.cluster.directory);
      if (running) await stopPostmaster(running.pid);
      removeSocketDirectory(this.server.cluster, this.server.postmaster.socketDirectory);
      this.options.log?.('info', 'PostgreSQL stopped.');
    });
  }

  private observe(postmaster: Postmaster): void {
    clearInterval(this.watch);
    if (postmaster.child) {
      postmaster.child.once('exit', () => this.onDeath(postmaster));
      if (postmaster.child.exitCode !== null || postmaster.child.signalCode !== null) this.onDeath(postmaster);
      return;
    }
    // Not a child of this process, so no event reports its end.
    this.watch = setInterval(() => {
      if (!isAlive(postmaster.pid)) this.onDeath(postmaster);
    }, WATCH_MS);
    this.watch.unref();
  }

  private onDeath(postmaster: Postmaster): void {
    if (this.stopped || this.restarting || postmaster !== this.server.postmaster) return;
    clearInterval(this.watch);
    this.options.log?.('error', `PostgreSQL (process ${postmaster.pid}) died; starting it again.`);
    this.restarting = this.restartUntilRunning().finally(() => {
      this.restarting = null;
      // Only now: a server that dies at once would be missed otherwise.
      if (!this.stopped) this.observe(this.server.postmaster);
    });
  }

  /** Retries without limit: without its database the installation can do nothing else. */
  private async restartUntilRunning(): Promise<void> {
    for (let delayMs = 100; !this.stopped; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
      try {
        this.server = await PidLock.during(this.paths.lock, START_LOCK_WAIT_MS, () =>
          restart(this.server, this.paths, this.options.durable ?? true),
        );
        this.options.log?.('info', `PostgreSQL runs again (process ${this.server.postmaster.pid}).`);
        this.emit('restarted');
        return;
      } catch (error) {
        this.options.log?.('error', `PostgreSQL could not be started again: ${(error as Error).message}`);
        await delay(delayMs);
      }
    }
  }
}

/** `none`: there is no cluster yet. `major`: the version of the installed programs. */
export type FoundPostgres =
  | { readonly kind: 'running'; readonly url: string; readonly major: string }
  | { readonly kind: 'stopped' | 'none'; readonly major: string };

/** Starts and changes nothing. Throws when the programs are missing, or the cluster belongs to another version. */
export function findEmbeddedPostgres(dataDir: string): FoundPostgres {
  const major = installedMajor();
  const directory = clusterDirectory(dataDir);
  if (directory === null) return { kind: 'none', major };
  const created = readFileSync(join(directory, 'PG_VERSION'), 'utf8').trim();
  if (created !== major)
    throw new Error(
      `The database in ${directory} was created by PostgreSQL ${created}; this version contains PostgreSQL ${major}.`,
    );
  const postmaster = findPostmaster(directory);
  if (postmaster?.ready !== true) return { kind: 'stopped', major };
  if (postmaster.socketDirectory === null) throw new EarlierServerError(postmaster.pid);
  const password = readFileSync(join(dataDir, 'secrets', 'postgres-password'), 'utf8').trim();
  return { kind: 'running', url: databaseUrl({ password }, postmaster.socketDirectory), major };
}
