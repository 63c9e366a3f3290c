import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { bringUp, bringUpAgain, type RunningServer } from './bring-up.js';
import { databaseUrl } from './cluster.js';
import { PidLock } from './pid-lock.js';
import { findPostmaster, type Postmaster, stopPostmaster } from './postmaster.js';
import { isAlive } from './process-identity.js';
import { type ServerPaths, serverPaths } from './server-paths.js';
import { removeSocketDirectory } from './server-socket.js';
import { ServerUsers } from './server-users.js';

export interface EmbeddedPostgresOptions {
  /** Holds the cluster (`postgres`, or a link to it), the password (`secrets`) and the start log (`logs`). */
  readonly dataDir: string;
  readonly log?: (level: 'info' | 'warn' | 'error', message: string) => void;
  /** false: nothing is forced to disk; for tests only. Default true. */
  readonly durable?: boolean;
}

interface Events {
  /** The server died; connections are broken until `restarted`. */
  died: [];
  restarted: [];
}

const START_LOCK_WAIT_MS = 120_000;
const WATCH_MS = 250;
const MAX_RETRY_MS = 2_000;

/**
 * A PostgreSQL server of our own on a Unix socket, from the programs of an npm package. Starts it, or joins the
 * one that another process of the installation (or a killed predecessor) left running on the same data directory; starts it again on
 * the same socket when it dies; the last process to stop it shuts it down.
 */
export class EmbeddedPostgres extends EventEmitter<Events> {
  private stopping: Promise<void> | null = null;
  private reviving: Promise<void> | null = null;
  private watch: NodeJS.Timeout | null = null;
  private stopped = false;

  private constructor(
    private readonly options: EmbeddedPostgresOptions,
    private readonly paths: ServerPaths,
    private readonly users: ServerUsers,
    private server: RunningServer,
  ) {
    super();
    this.watchOver(server.postmaster);
  }

  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const paths = serverPaths(options.dataDir);
    const users = new ServerUsers(paths.users);
    const lock = await PidLock.acquire(paths.lock, START_LOCK_WAIT_MS);
    try {
      const server = await bringUp(paths, users.hasAny(), options.durable ?? true);
      users.join();
      const { pid, child } = server.postmaster;
      options.log?.('info', `PostgreSQL ${child ? 'started' : 'is running'} (process ${pid}).`);
      return new EmbeddedPostgres(options, paths, users, server);
    } finally {
      lock.release();
    }
  }

  /** Of the database `headrace`, with the password; stays valid over restarts of the server. */
  get url(): string {
    return databaseUrl(this.server.cluster, this.server.postmaster.socketDirectory);
  }

  /** Process number of the running server. */
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
    if (this.watch) clearInterval(this.watch);
    await this.reviving;
    const lock = await PidLock.acquire(this.paths.lock, START_LOCK_WAIT_MS);
    try {
      this.users.leave();
      if (this.users.hasAny()) return;
      const running = findPostmaster(this.server.cluster.directory);
      if (running) await stopPostmaster(running.pid);
      removeSocketDirectory(this.server.cluster, this.server.postmaster.socketDirectory);
      this.options.log?.('info', 'PostgreSQL stopped.');
    } finally {
      lock.release();
    }
  }

  private watchOver(postmaster: Postmaster): void {
    if (this.watch) clearInterval(this.watch);
    this.watch = null;
    if (postmaster.child) {
      postmaster.child.once('exit', () => this.onDeath(postmaster));
      if (postmaster.child.exitCode !== null || postmaster.child.signalCode !== null) this.onDeath(postmaster);
      return;
    }
    // Not our child, so nothing tells us of its end.
    this.watch = setInterval(() => {
      if (!isAlive(postmaster.pid)) this.onDeath(postmaster);
    }, WATCH_MS);
    this.watch.unref();
  }

  private onDeath(postmaster: Postmaster): void {
    if (this.stopped || this.reviving || postmaster !== this.server.postmaster) return;
    if (this.watch) clearInterval(this.watch);
    this.options.log?.('error', `PostgreSQL (process ${postmaster.pid}) died; starting it again.`);
    this.emit('died');
    this.reviving = this.revive().finally(() => {
      this.reviving = null;
      // Only now, or a server that dies at once would be overlooked.
      if (!this.stopped) this.watchOver(this.server.postmaster);
    });
  }

  /** Tries for ever: without its database the installation can do nothing else. */
  private async revive(): Promise<void> {
    for (let pauseMs = 100; !this.stopped; pauseMs = Math.min(pauseMs * 2, MAX_RETRY_MS)) {
      try {
        const lock = await PidLock.acquire(this.paths.lock, START_LOCK_WAIT_MS);
        try {
          this.server = await bringUpAgain(this.server, this.paths, this.options.durable ?? true);
        } finally {
          lock.release();
        }
        this.options.log?.('info', `PostgreSQL runs again (process ${this.server.postmaster.pid}).`);
        this.emit('restarted');
        return;
      } catch (error) {
        this.options.log?.(
          'error',
          `PostgreSQL could not be started again: ${error instanceof Error ? error.message : String(error)}`,
        );
        await delay(pauseMs);
      }
    }
  }
}
