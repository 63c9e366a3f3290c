import { Chance } from '../../libs/testing/src/chance.js';
import { ChaosClient } from './chaos-client.js';
import { check, listRuns } from './checks.js';
import { drain, poll, queryAt } from './drain.js';
import { type ChaosInstallation, unexplainedExits } from './installation.js';
import { undetectedFalsifications } from './false-ledger.js';
import { Kills } from './kills.js';
import { Ledger } from './ledger.js';
import { Load } from './load.js';
import { LogWatch } from './log-watch.js';
import type { ChaosOptions, InstallationKind } from './options.js';
import { startSeparateInstallation } from './separate-installation.js';
import { startSingleInstallation } from './single-installation.js';
import { type ChaosResult, resultOf } from './summary.js';
import { Witness } from './witness.js';

/** Long enough for every server to start at the same time on a busy machine. */
const READY_TIMEOUT_MS = 180_000;

/** Load and kills on one installation, then everything drained, checked and stopped. */
export async function runChaos(kind: InstallationKind, options: ChaosOptions): Promise<ChaosResult> {
  const chance = new Chance(options.seed);
  const pick = (count: number): number => chance.below(count);
  const log = new LogWatch();
  const installation = await startInstallation(kind, log, pick);
  try {
    return await disturb(kind, installation, options, chance, log);
  } finally {
    await installation.dispose();
  }
}

function startInstallation(
  kind: InstallationKind,
  log: LogWatch,
  pick: (count: number) => number,
): Promise<ChaosInstallation> {
  switch (kind) {
    case 'separate':
      return startSeparateInstallation({ withRedis: false }, log, pick);
    case 'redis':
      return startSeparateInstallation({ withRedis: true }, log, pick);
    case 'single':
      return startSingleInstallation(log, pick);
  }
}

/** How long each phase took. */
class Phases {
  readonly seconds: Record<string, number> = {};
  private since = performance.now();

  end(name: string): void {
    this.seconds[name] = Math.round((performance.now() - this.since) / 1000);
    this.since = performance.now();
  }
}

async function disturb(
  kind: InstallationKind,
  installation: ChaosInstallation,
  options: ChaosOptions,
  chance: Chance,
  log: LogWatch,
): Promise<ChaosResult> {
  const { access, servers, home } = installation;
  const { seed, loadIntervalMs: intervalMs, stallTimeoutMs } = options;
  const ledger = new Ledger();
  const witness = new Witness(home.directory);
  const load = new Load(access, ledger, witness, { seed, intervalMs });
  const allReady = (): Promise<unknown> => Promise.all(servers.map((server) => server.whenReady(READY_TIMEOUT_MS)));
  const kills = new Kills(installation.targets, chance, options.killIntervalMs, async ({ name }) => {
    // Without this an installation that starts slower than the interval would never serve.
    if (name === 'everything') await allReady();
  });

  const phases = new Phases();

  // 1. Load and kills at the same time.
  await load.start();
  kills.start();
  await new Promise((resolve) => setTimeout(resolve, options.durationMs));
  await kills.stop();
  phases.end('load');

  // 2. Everything that is to be repeated is answered, and every due time has come to its end.
  await allReady();
  await load.stop();
  const query = queryAt(() => installation.databaseUrl());
  await drain(query, stallTimeoutMs);
  await load.pauseSchedules();
  const remaining = await drain(query, stallTimeoutMs);
  phases.end('drain');

  // 3. What was promised is compared with what there is.
  const client = new ChaosClient(access, ledger);
  const runs = await listRuns(client);
  const { runsOfKilledAgents } = home;
  const { factoryUid } = access;
  const records = { client, factoryUid, query, witness, ledger, runsOfKilledAgents };
  const findings = await check(records, runs);
  const hasFindings = Object.values(findings).some((found) => found.length > 0);
  const undetected = hasFindings ? [] : await undetectedFalsifications(records, runs);
  const orphanedWorkspaces = await poll(stallTimeoutMs, async () => {
    const live = await query<{ id: string }>('SELECT id::text FROM executions WHERE ended_at IS NULL');
    const orphaned = home.workspaces().filter((name) => !live.some(({ id }) => id === name));
    return { value: orphaned, done: orphaned.length === 0, moved: false };
  });

  phases.end('check');

  // 4. Nothing is left behind by a stop in good order.
  const exitCodes = await installation.stop();
  const leftovers = await poll(stallTimeoutMs, async () => {
    const found = [...home.serverProcesses(), ...home.workspaces()];
    return Promise.resolve({ value: found, done: found.length === 0, moved: false });
  });
  phases.end('stop');
  return resultOf({
    ...{ kind, options, kills, ledger, log, runs, findings, undetected, remaining },
    leftovers: [...orphanedWorkspaces, ...leftovers],
    exits: unexplainedExits(servers),
    seconds: phases.seconds,
    exitCodes,
  });
}
