import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findEmbeddedPostgres } from '../../libs/platform/embedded-postgres/src/embedded-postgres.js';
import { freePort } from '../support/installation.js';
import { checkout } from '../launcher/launched.js';
import { type ChaosInstallation, Home, SERVER_SETTINGS } from './installation.js';
import type { LogWatch } from './log-watch.js';
import { backendTarget } from './external-postgres.js';
import { childrenOf, killProcess, processesNaming } from './process-table.js';
import { SupervisedProcess } from './supervised-process.js';

const READY_TIMEOUT_MS = 120_000;

/** `npm start` alone: a launcher, one server process, and the embedded PostgreSQL. */
export async function startSingleInstallation(
  log: LogWatch,
  pick: (count: number) => number,
): Promise<ChaosInstallation> {
  const home = new Home();
  const launcher = new SupervisedProcess({
    name: 'launcher',
    command: process.execPath,
    args: [join(checkout, 'scripts/start.mjs'), 'up'],
    environment: {
      ...SERVER_SETTINGS,
      PATH: home.searchPath,
      HOME: home.directory,
      HEADRACE_DATA_DIR: home.dataDir,
      PORT: String(await freePort()),
      INGRESS_PORT: String(await freePort()),
    },
    // A directory without an .env file.
    directory: home.directory,
    ready: /Headrace is ready/,
    onLine: (line) => log.read('launcher', line),
  });
  launcher.start();
  await launcher.whenReady(READY_TIMEOUT_MS);
  const connection = JSON.parse(readFileSync(join(home.dataDir, 'connection.json'), 'utf8')) as Record<string, string>;

  const postmaster = (): number | null =>
    processesNaming(home.dataDir).find(({ argv }) => argv[0]?.endsWith('/postgres') === true)?.pid ?? null;
  const killPostgres = (): boolean => {
    const pid = postmaster();
    if (pid === null) return false;
    const children = childrenOf(pid);
    const killed = killProcess(pid);
    for (const child of children) killProcess(child.pid);
    return killed;
  };
  const server = (): number | null =>
    launcher.pid === null ? null : (childrenOf(launcher.pid).find(({ argv }) => argv[0]?.endsWith(' up'))?.pid ?? null);
  return {
    home,
    access: {
      apiUrl: connection.base_url ?? '',
      ingressUrl: connection.ingress_base_url ?? '',
      token: connection.token ?? '',
      factoryUid: connection.factory_uid ?? '',
    },
    servers: [launcher],
    targets: [
      { name: 'launcher', kill: () => launcher.kill() },
      {
        name: 'server',
        kill: () => {
          const pid = server();
          if (pid === null) return false;
          launcher.expectExit();
          return killProcess(pid);
        },
      },
      ...home.runnerAndAgent(pick),
      backendTarget(postmaster, pick),
      { name: 'postgres', kill: killPostgres },
      { name: 'everything', kill: () => home.killAll([launcher], killPostgres) },
    ],
    databaseUrl: () => {
      const found = findEmbeddedPostgres(home.dataDir);
      if (found.kind !== 'running') throw new Error('The embedded PostgreSQL does not run.');
      return found.url;
    },
    stop: async () => [await launcher.stop()],
    dispose: async () => {
      await launcher.stop('SIGKILL');
      home.killAll([], killPostgres);
      home.remove();
    },
  };
}
