// `npm run bench -- compare`: creating runs beside other products that store work durably before they execute it. pg-boss is a
// library that writes jobs to PostgreSQL, and gets a minimal server; Restate is a server with a separate log, and gets delayed
// invocations. Neither authenticates, limits or validates requests. They are installed when they are missing, into HEADRACE_BENCH_PEERS.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createsEnvironment, loadCreates, measure, POOL, startApi, startFloor, startServer } from './creates.mjs';
import { freePort, inTurns, makeCaller, median, withDatabase } from './support.mjs';

const CONNECTIONS = [10, 50];
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
// The last version of pg-boss for Node.js 20. The server of Restate is not open source (BSL): nothing of it is part of Headrace.
const RESTATE_SERVER = `@restatedev/restate-server-${process.platform}-${process.arch}`;
const PACKAGES = ['pg-boss@10', `${RESTATE_SERVER}@1`, '@restatedev/restate-sdk@1'];
const directory =
  process.env.HEADRACE_BENCH_PEERS ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'headrace-bench-peers');

function install() {
  const names = ['pg-boss', RESTATE_SERVER, '@restatedev/restate-sdk'];
  if (names.every((name) => existsSync(join(directory, 'node_modules', name)))) return;
  console.log(`Installing ${PACKAGES.join(', ')} into ${directory} …`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"private":true}\n');
  const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  execFileSync('npm', ['install', ...flags, ...PACKAGES], { cwd: directory, stdio: 'inherit' });
}

const startPgBoss = (databaseUrl) =>
  startServer('pg-boss-server.mjs', { BENCH_PG_BOSS: JSON.stringify({ databaseUrl, directory, poolSize: POOL }) });

/** All addresses are of the loopback interface, and its files are in the directory. */
async function startRestate(dataDir, children) {
  const service = await startServer('restate-service.mjs', { BENCH_DIRECTORY: directory, RESTATE_LOGGING: 'ERROR' });
  children.push(service.child);
  const [ingress, admin, fabric] = [await freePort(), await freePort(), await freePort()];
  const program = join(directory, 'node_modules', RESTATE_SERVER, 'bin/restate-server');
  const addresses = ['--listen-mode', 'tcp', '--bind-ip', '127.0.0.1', '--bind-port', String(fabric)];
  const child = spawn(program, ['--no-logo', ...addresses], {
    env: {
      RESTATE_BASE_DIR: join(dataDir, 'restate'),
      RESTATE_INGRESS__BIND_PORT: String(ingress),
      RESTATE_ADMIN__BIND_PORT: String(admin),
      // At its start it looks for a newer version of itself, and reports an error where it cannot.
      RESTATE_LOG_FILTER: 'off',
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await once(child, 'spawn');
  children.push(child);
  const register = () =>
    fetch(`http://127.0.0.1:${admin}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri: service.url }),
    });
  // It is ready when it accepts the service.
  for (let attempt = 0; ; attempt += 1) {
    const response = await register().catch((error) => ({ ok: false, text: () => String(error) }));
    if (response.ok) break;
    if (attempt === 50 || child.exitCode !== null)
      throw new Error(`Restate did not accept the service: ${await response.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return { child, url: `http://127.0.0.1:${ingress}/runs/create/send?delay=1d` };
}

export const benchCompare = () =>
  withDatabase(async ({ db, databaseUrl, dataDir, children }) => {
    install();
    const token = await makeCaller(db);
    const started = async (server) => {
      children.push((await server).child);
      return server;
    };
    const api = await started(startApi(createsEnvironment(databaseUrl, dataDir)));
    const floor = await started(startFloor(db, databaseUrl));
    const boss = await started(startPgBoss(databaseUrl));
    const restate = await startRestate(dataDir, children);
    for (const connections of CONNECTIONS) {
      const load =
        (server, bearer = null) =>
        () =>
          measure(server.child, () => loadCreates(server.url, bearer, connections, SECONDS));
      const seen = await inTurns(
        { floor: load(floor), headrace: load(api, token), 'pg-boss': load(boss), restate: load(restate) },
        ROUNDS,
      );
      console.log(`${connections} connections, medians of ${seen.floor.length} measurements of ${SECONDS} s`);
      const floorRate = median(seen.floor.map(({ rate }) => rate));
      for (const [name, measured] of Object.entries(seen)) {
        const of = (figure) => median(measured.map((one) => one[figure]));
        console.log(
          `${name.padEnd(9)} ${of('rate').toFixed(0).padStart(6)}/s, ${(of('rate') / floorRate).toFixed(2)} of the floor, p99 ${of('p99').toFixed(0)} ms, ${of('processorMs').toFixed(2)} ms of processor time of its process`,
        );
      }
    }
  });
