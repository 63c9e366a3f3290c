// `npm run bench -- execution`: what an execution costs beyond its agent, beside the floor of the same agent process started by
// hand: the time to the first event of the agent, executions a minute with four slots, and memory of a running execution.
// The agent is the built-in one. With HARNESSES_FILE it is the first one of that file, which gets BENCH_PROMPT; memory is not
// measured then.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { AgentProcess, BUILT_IN_AGENT } from './agent-process.mjs';
import { aim } from './aims.mjs';
import { dist, freePort, makeCaller, median, percentile, root, start, stop, withDatabase } from './support.mjs';

const STARTS = Number(process.env.BENCH_STARTS ?? 30);
const EXECUTIONS = Number(process.env.BENCH_EXECUTIONS ?? 600);
/** Executions before the measured ones: the programs of a server that has run for some time are compiled. */
const WARM_UP = EXECUTIONS / 2;
const SLOTS = 4;
/** After this time without a start a runner waits again. */
const REFILL_MS = 2000;
/** Aims. */
const EXTRA_MS = 60;
const THROUGHPUT = 0.7;
const EXTRA_MIB = 25;
const MIB = 1_048_576;
const HARNESSES_FILE = process.env.HARNESSES_FILE ?? '';
const [HARNESS, AGENT] =
  HARNESSES_FILE === ''
    ? ['oz', BUILT_IN_AGENT]
    : Object.entries(JSON.parse(readFileSync(HARNESSES_FILE, 'utf8')).harnesses)[0];
const SHORT = process.env.BENCH_PROMPT ?? '```sh\necho hello\n```';
const LONG = '```sh\necho hello; sleep 60\n```';
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

export const benchExecution = () =>
  withDatabase(async ({ db, databaseUrl, dataDir, children }) => {
    const token = await makeCaller(db);
    const port = await freePort();
    const env = {
      DATABASE_URL: databaseUrl,
      HEADRACE_DATA_DIR: join(dataDir, 'data'),
      SECRETS_KEY: randomBytes(24).toString('hex'),
      PORT: String(port),
      MAX_CONCURRENT_RUNS: String(SLOTS),
      MAX_CONCURRENT_RUNS_PER_TEAM: String(SLOTS),
      MAX_IDLE_SESSIONS: '0',
      API_RATE_PER_MINUTE: '0',
      LOG_LEVEL: 'error',
      NODE_ENV: 'production',
      HARNESSES_FILE,
    };
    const main = join(root, 'dist/headrace.cjs');
    children.push((await start([main, 'api'], env, /API is ready/)).child);
    const startProcessor = async (warmRunners) =>
      (await start([main, 'processor'], { ...env, WARM_RUNNERS: String(warmRunners) }, /processor is ready/)).child;
    const service = {
      create: async (prompt) => {
        const response = await fetch(`http://127.0.0.1:${port}/api/v1/agent/runs`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ prompt, config: { harness: { type: HARNESS } } }),
        });
        return (await response.json()).run_id;
      },
      untilEnded: async (runIds, intervalMs = 25) => {
        for (;;) {
          const { rows } = await db.query(
            'SELECT count(*)::int AS n FROM runs WHERE id = ANY($1) AND state = ANY($2)',
            [runIds, ENDED],
          );
          if (rows[0].n === runIds.length) return;
          await wait(intervalMs);
        }
      },
    };
    let processor = await startProcessor(0);
    children.push(processor);
    const cold = await measureStarts('cold', db, service, dataDir, 0);
    const memory = AGENT === BUILT_IN_AGENT && (await measureMemory(db, service, dataDir, processor.pid));
    await stop(processor);
    processor = await startProcessor(1);
    children.push(processor);
    const warm = await measureStarts('warm', db, service, dataDir, REFILL_MS);
    const throughput = await measureThroughput(service, dataDir);
    console.log(
      `          ${warm <= EXTRA_MS ? 'within' : 'MISSED'}: a warm start needs ${warm.toFixed(0)} ms more than the floor; the aim is ${EXTRA_MS} ms`,
    );
    aim('execution: warm start beyond the floor', warm, { atMost: EXTRA_MS, digits: 0, unit: ' ms' });
    aim('execution: throughput as a share of the floor', throughput, { atLeast: THROUGHPUT });
    if (memory !== false)
      aim('execution: memory beyond the agent', memory, { atMost: EXTRA_MIB, digits: 1, unit: ' MiB' });
    return { cold, warm, throughput, memory };
  });

/** One run at a time, in pairs with the floor. */
async function measureStarts(label, db, service, directory, pauseMs) {
  const seen = { floor: [], headrace: [] };
  for (let index = -2; index < STARTS; index += 1) {
    const floor = await AgentProcess.timeToFirstEvent(SHORT, directory, AGENT);
    await wait(pauseMs);
    const from = Date.now();
    const runId = await service.create(SHORT);
    await service.untilEnded([runId]);
    const { rows } = await db.query(
      `SELECT extract(epoch FROM min(at)) * 1000 AS at FROM run_events
        WHERE run_id = $1 AND kind IN ('message_chunk', 'thought_chunk', 'tool_call', 'plan')`,
      [runId],
    );
    // The first ones warm up.
    if (index < 0) continue;
    seen.floor.push(floor);
    seen.headrace.push(Number(rows[0].at) - from);
  }
  for (const [name, times] of Object.entries(seen))
    console.log(
      `${label}      ${name.padEnd(9)} p50 ${median(times).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms to the agent's first event (${times.length} starts)`,
    );
  const extra = median(seen.headrace.map((ms, index) => ms - seen.floor[index]));
  console.log(`          ${extra.toFixed(0)} ms more than the floor`);
  return extra;
}

/** A backlog of short runs against the same number of agents, four at a time. Half of the agents follow it: the machine changes. */
async function measureThroughput(service, directory) {
  const startAgents = async (count) => {
    const from = performance.now();
    let left = count;
    await Promise.all(
      Array.from({ length: SLOTS }, async () => {
        for (; left > 0;) {
          left -= 1;
          await AgentProcess.timeToFirstEvent(SHORT, directory, AGENT);
        }
      }),
    );
    return performance.now() - from;
  };
  const half = Math.ceil(EXECUTIONS / 2);
  const execute = async (count) => {
    const runIds = await Promise.all(Array.from({ length: count }, () => service.create(SHORT)));
    // Seldom, because each look needs processor time, which the executions need.
    await service.untilEnded(runIds, 250);
  };
  await execute(WARM_UP);
  const before = await startAgents(half);
  const from = performance.now();
  await execute(EXECUTIONS);
  const own = (EXECUTIONS / (performance.now() - from)) * 60_000;
  const floor = ((2 * half) / (before + (await startAgents(half)))) * 60_000;
  console.log(
    `rate      floor ${floor.toFixed(0)} executions a minute, headrace ${own.toFixed(0)} (${EXECUTIONS}, ${SLOTS} slots)`,
  );
  console.log(
    `          ${own / floor >= THROUGHPUT ? 'within' : 'MISSED'}: ${(own / floor).toFixed(2)} of the floor; the aim is ${THROUGHPUT}`,
  );
  return own / floor;
}

/** Proportional set size of the processes of running executions, without and with the one of their agent. */
async function measureMemory(db, service, directory, processorPid) {
  const before = sizeOf(new Set([processorPid]));
  const runIds = await Promise.all(Array.from({ length: SLOTS }, () => service.create(LONG)));
  for (
    let n = 0;
    n < SLOTS;
    n = (
      await db.query(
        `SELECT count(DISTINCT run_id)::int AS n FROM run_events WHERE kind = 'tool_call' AND run_id = ANY($1)`,
        [runIds],
      )
    ).rows[0].n
  )
    await wait(50);
  const floor = new AgentProcess(LONG, directory, AGENT);
  await floor.firstEvent;
  await wait(1000);
  const tree = descendants(processorPid);
  const agents = new Set(
    [...tree].filter((pid) => commandOf(pid).includes('builtin-agent')).flatMap((pid) => [pid, ...descendants(pid)]),
  );
  const rest = new Set([...tree].filter((pid) => !agents.has(pid)));
  const extra = (sizeOf(rest) + sizeOf(new Set([processorPid])) - before) / SLOTS / MIB;
  const own = sizeOf(new Set([floor.child.pid])) / MIB;
  console.log(
    `memory    agent alone ${own.toFixed(0)} MiB; beyond its agent an execution has ${extra.toFixed(1)} MiB (proportional set size, ${SLOTS} at once)`,
  );
  console.log(`          ${extra <= EXTRA_MIB ? 'within' : 'MISSED'}: the aim is ${EXTRA_MIB} MiB`);
  await floor.stop();
  return extra;
}

function descendants(root) {
  const parents = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${pid}/stat`);
    parents.set(Number(pid), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const found = new Set();
  for (let level = [root]; level.length > 0;) {
    level = [...parents].filter(([, parent]) => level.includes(parent)).map(([pid]) => pid);
    for (const pid of level) found.add(pid);
  }
  return found;
}

const commandOf = (pid) => read(`/proc/${pid}/cmdline`);

const sizeOf = (pids) =>
  [...pids].reduce(
    (total, pid) => total + 1024 * Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0),
    0,
  );

/** Empty for a process that has ended meanwhile. */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
