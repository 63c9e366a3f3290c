import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/installation.js';
import { ExternalPostgres } from './external-postgres.js';
import { FailoverProxy } from './failover-proxy.js';
import { type ChaosInstallation, headrace, Home, SERVER_SETTINGS, serverProcess, type Target } from './installation.js';
import type { LogWatch } from './log-watch.js';
import { RedisServer } from './redis-server.js';

const READY_TIMEOUT_MS = 120_000;
const DATABASE_CUT_MS = 2_000;
const POOLS = { DATABASE_POOL_SIZE: '8', QUEUE_POOL_SIZE: '6' };

export interface SeparateInstallation extends ChaosInstallation {
  readonly postgres: ExternalPostgres;
  /** Between the servers and PostgreSQL. */
  readonly database: FailoverProxy;
}

/**
 * Two processes each of API, ingress and processor, as an installation on several machines has them: one external
 * PostgreSQL, load balancers in front, and queues in Redis or in the database.
 */
export async function startSeparateInstallation(
  { withRedis, settings = {} }: { readonly withRedis: boolean; readonly settings?: Readonly<Record<string, string>> },
  log: LogWatch,
  pick: (count: number) => number,
): Promise<SeparateInstallation> {
  const home = new Home();
  const postgres = await ExternalPostgres.start(home.directory);
  const redis = withRedis ? await RedisServer.start(home.directory) : null;
  const apiPorts = [await freePort(), await freePort()];
  const ingressPorts = [await freePort(), await freePort()];
  const api = await FailoverProxy.start(apiPorts);
  const ingress = await FailoverProxy.start(ingressPorts);
  const database = await FailoverProxy.start([postgres.port]);
  const environment = {
    ...SERVER_SETTINGS,
    ...POOLS,
    PATH: home.searchPath,
    HOME: home.directory,
    HEADRACE_DATA_DIR: home.dataDir,
    DATABASE_URL: postgres.url(database.port),
    PUBLIC_URL: api.origin,
    RUNNER_API_URL: api.origin,
    INGRESS_PUBLIC_URL: ingress.origin,
    ...(redis === null ? {} : { QUEUE_URL: redis.url }),
    ...settings,
  };
  await headrace(environment, 'migrate');
  const server = (name: string, command: string, more: Record<string, string> = {}) =>
    serverProcess(name, command, { ...environment, ...more }, log);
  const servers = [
    ...apiPorts.map((port, index) => server(`api-${index}`, 'api', { PORT: String(port) })),
    ...ingressPorts.map((port, index) => server(`ingress-${index}`, 'ingress', { INGRESS_PORT: String(port) })),
    ...[0, 1].map((index) => server(`processor-${index}`, 'processor')),
  ];
  for (const process of servers) process.start();
  await Promise.all(servers.map((process) => process.whenReady(READY_TIMEOUT_MS)));
  const access = await createAccess({ ...environment, HEADRACE_URL: api.origin });

  const oneOf = (command: string): Target => ({
    name: command,
    kill: () => {
      const found = servers.filter((process) => process.name.startsWith(command) && process.pid !== null);
      return found[pick(found.length)]?.kill() ?? false;
    },
  });
  const failedOver: Target = {
    name: 'database connections',
    kill: async () => {
      database.cut();
      await delay(DATABASE_CUT_MS);
      database.restore();
      return true;
    },
  };
  const queueTargets: Target[] = redis
    ? [
        { name: 'redis', kill: () => redis.process.kill() },
        { name: 'redis data', kill: () => redis.flushAll() },
      ]
    : [];
  return {
    access: { ...access, apiUrl: `${api.origin}/api/v1`, ingressUrl: ingress.origin },
    servers,
    targets: [
      ...['api', 'ingress', 'processor'].map(oneOf),
      ...home.runnerAndAgent(pick),
      postgres.backendTarget(pick),
      { name: 'postgres', kill: () => postgres.kill() },
      failedOver,
      ...queueTargets,
      {
        name: 'everything',
        kill: () =>
          home.killAll(servers, () => {
            postgres.kill();
            redis?.process.kill();
          }),
      },
    ],
    home,
    postgres,
    database,
    databaseUrl: () => postgres.url(),
    stop: () => Promise.all(servers.map((process) => process.stop())),
    dispose: async () => {
      await Promise.all(servers.map((process) => process.stop('SIGKILL')));
      home.killAll([]);
      await Promise.all([api.stop(), ingress.stop(), database.stop()]);
      await redis?.process.stop();
      await postgres.stop();
      home.remove();
    },
  };
}

/** An administrator who owns a team and a factory, by the command line. */
async function createAccess(environment: NodeJS.ProcessEnv): Promise<{ token: string; factoryUid: string }> {
  const token = await headrace(environment, 'administrator', 'create', 'owner@example.test');
  const signedIn = { ...environment, HEADRACE_TOKEN: token };
  const team = await headrace(signedIn, 'team', 'create', 'Chaos');
  const factoryUid = await headrace(signedIn, 'factory', 'create', '--team', team, 'Chaos');
  if (!/^hr_\w+$/.test(token) || !/^[A-Za-z0-9]{22}$/.test(factoryUid))
    throw new Error('The command line printed no token or factory.');
  return { token, factoryUid };
}
