import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { nativeServer } from '../../libs/platform/embedded-postgres/src/native-server.js';
import { serverAccount } from '../../libs/platform/embedded-postgres/src/server-account.js';
import { freePort } from '../support/installation.js';
import type { Target } from './installation.js';
import { childrenOf, killProcess } from './process-table.js';
import { SupervisedProcess } from './supervised-process.js';

const run = promisify(execFile);
/** Role and database of the application. */
export const ROLE = 'app';
export const DATABASE = 'app';
const SESSION = /^postgres: (app|headrace) /;
/** Initialising a cluster and recovering one, on a busy machine. */
const READY_TIMEOUT_MS = 120_000;
const SETTINGS = {
  max_connections: '200',
  timezone: 'UTC',
  jit: 'off',
  unix_socket_directories: '',
  log_min_messages: 'log',
};

/** A PostgreSQL that is not Headrace's own: one database, owned by a role that may do nothing else. */
export class ExternalPostgres {
  private constructor(
    private readonly server: SupervisedProcess,
    private readonly password: string,
    readonly port: number,
  ) {}

  /** `directory` must exist, and everybody must be able to enter it. */
  static async start(directory: string): Promise<ExternalPostgres> {
    const cluster = join(directory, 'postgres');
    const passwordFile = join(directory, 'postgres-password');
    const password = randomBytes(18).toString('base64url');
    const account = serverAccount(cluster);
    const programs = await nativeServer(account, directory);
    mkdirSync(cluster, { mode: 0o700 });
    writeFileSync(passwordFile, password, { mode: 0o600 });
    if (account) for (const path of [cluster, passwordFile]) chownSync(path, account.uid, account.gid);
    const access = ['-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    await run(programs.initdb, ['-D', cluster, ...access, '--encoding=UTF8', '--locale=C', '--no-instructions'], {
      cwd: '/',
      env: { LC_ALL: 'C' },
      ...(account ?? {}),
    });
    const port = await freePort();
    const server = new SupervisedProcess({
      name: 'postgres',
      command: programs.postgres,
      args: [
        ...['-D', cluster, '-p', String(port), '-c', 'listen_addresses=127.0.0.1'],
        ...Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      environment: { LC_ALL: 'C', TZ: 'UTC' },
      directory: '/',
      account,
      ready: /database system is ready to accept connections/,
    });
    server.start();
    await server.whenReady(READY_TIMEOUT_MS);
    const postgres = new ExternalPostgres(server, password, port);
    await postgres.asSuperuser([
      `CREATE ROLE ${ROLE} LOGIN PASSWORD '${password}'`,
      `CREATE DATABASE ${DATABASE} OWNER ${ROLE}`,
    ]);
    return postgres;
  }

  /** Of the application's role, at this port. */
  url(port = this.port): string {
    return `postgresql://${ROLE}:${this.password}@127.0.0.1:${port}/${DATABASE}`;
  }

  get process(): SupervisedProcess {
    return this.server;
  }

  /** One session of the application at random. */
  backendTarget(pick: (count: number) => number): Target {
    return backendTarget(() => this.server.pid, pick);
  }

  /** The main process and everything below it at once. */
  kill(): boolean {
    const { pid } = this.server;
    if (pid === null) return false;
    const children = childrenOf(pid);
    const killed = this.server.kill();
    for (const child of children) killProcess(child.pid);
    return killed;
  }

  /** One statement after the other, in the database `postgres`. */
  async asSuperuser(statements: readonly string[]): Promise<void> {
    const client = await this.connectAsSuperuser('postgres');
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }

  /** Holds a table of the application against everybody, readers included, until the returned function is called. */
  async lockTable(table: string): Promise<() => Promise<void>> {
    const client = await this.connectAsSuperuser(DATABASE);
    await client.query('BEGIN');
    await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    return () => client.end();
  }

  private async connectAsSuperuser(database: string): Promise<pg.Client> {
    const { port, password } = this;
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password, database });
    // A server that ends breaks it; its user learns that from its query.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async stop(): Promise<void> {
    await this.server.stop('SIGINT');
  }
}

/** Kills one session of an ordinary role, found by the title that PostgreSQL gives to its process. */
export function backendTarget(postmaster: () => number | null, pick: (count: number) => number): Target {
  return {
    name: 'postgres backend',
    kill: () => {
      const pid = postmaster();
      const found = pid === null ? [] : childrenOf(pid).filter(({ argv }) => SESSION.test(argv[0] ?? ''));
      const victim = found[pick(found.length)];
      return victim !== undefined && killProcess(victim.pid);
    },
  };
}
