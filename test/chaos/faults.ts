import { startVerifyingS3, VERIFYING_S3_KEYS } from '../../libs/testing/src/s3/verifying-s3.js';
import { DATABASE, type ExternalPostgres, ROLE } from './external-postgres.js';
import { FailoverProxy } from './failover-proxy.js';

/** What can be disturbed. */
export interface Stores {
  readonly postgres: ExternalPostgres;
  /** Between the servers and PostgreSQL. */
  readonly database: FailoverProxy;
  /** Between the servers and the object store. */
  readonly objects: FailoverProxy;
}

/** Something that an operator repairs after a while. */
export interface Fault {
  readonly name: string;
  readonly seconds: number;
  /** Resolves to what ends it. */
  begin(stores: Stores): Promise<() => Promise<void>>;
}

const BUCKET = 'objects';
const PACKET_DELAY_MS = 250;
const RESTART_TIMEOUT_MS = 60_000;
/** Sessions keep what they were allowed when they began. */
const END_SESSIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`;

/** An object store that can be taken away, and the settings that name it. */
export async function startObjectStore(): Promise<{
  proxy: FailoverProxy;
  settings: Record<string, string>;
  stop(): Promise<void>;
}> {
  const server = await startVerifyingS3(BUCKET);
  const proxy = await FailoverProxy.start([Number(new URL(server.url).port)]);
  return {
    proxy,
    settings: {
      OBJECT_STORE_URL: `s3://${BUCKET}/chaos`,
      S3_ENDPOINT: proxy.origin,
      S3_FORCE_PATH_STYLE: 'true',
      S3_ACCESS_KEY_ID: VERIFYING_S3_KEYS.accessKeyId,
      S3_SECRET_ACCESS_KEY: VERIFYING_S3_KEYS.secretAccessKey,
    },
    stop: async () => {
      await proxy.stop();
      await server.close();
    },
  };
}

/** What a superuser changes and takes back. Running sessions are ended, since they keep what they were allowed. */
const administrative = (name: string, seconds: number, begin: string, end: string): Fault => ({
  name,
  seconds,
  begin: async ({ postgres }) => {
    await postgres.asSuperuser([begin, END_SESSIONS]);
    return () => postgres.asSuperuser([end, END_SESSIONS]);
  },
});

const locked = (seconds: number): Fault => ({
  name: `table runs locked for ${seconds} s`,
  seconds,
  begin: ({ postgres }) => postgres.lockTable('headrace.runs'),
});

const disturbed = (name: string, seconds: number, begin: (stores: Stores) => FailoverProxy): Fault => ({
  name,
  seconds,
  begin: (stores) => {
    const proxy = begin(stores);
    return Promise.resolve(() => {
      proxy.cut();
      proxy.restore();
      return Promise.resolve();
    });
  },
});

/** Every fault, in the order in which they are tried; each a little longer than the time limit that it is about. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'PostgreSQL stopped',
    seconds: 30,
    begin: ({ postgres }) => {
      postgres.process.suspend('SIGINT');
      return Promise.resolve(() => postgres.process.resume(RESTART_TIMEOUT_MS));
    },
  },
  administrative(
    'connections exhausted',
    20,
    `ALTER ROLE ${ROLE} CONNECTION LIMIT 0`,
    `ALTER ROLE ${ROLE} CONNECTION LIMIT -1`,
  ),
  administrative(
    'database closed for connections',
    20,
    `ALTER DATABASE ${DATABASE} ALLOW_CONNECTIONS false`,
    `ALTER DATABASE ${DATABASE} ALLOW_CONNECTIONS true`,
  ),
  administrative(
    'database read-only',
    20,
    `ALTER DATABASE ${DATABASE} SET default_transaction_read_only = on`,
    `ALTER DATABASE ${DATABASE} RESET default_transaction_read_only`,
  ),
  locked(20),
  locked(45),
  disturbed('250 ms on each packet', 20, ({ database }) => {
    database.slowDown(PACKET_DELAY_MS);
    return database;
  }),
  disturbed('packets swallowed', 50, ({ database }) => {
    database.freeze();
    return database;
  }),
  disturbed('object store unreachable', 25, ({ objects }) => {
    objects.cut();
    return objects;
  }),
];
