import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HarnessDefinition } from '#execution/runner-protocol';
import { ModelServer } from '../../libs/testing/src/model-server/index.js';
import { descendants, freePort, Installation, type Program, until } from '../support/installation.js';
import { cellOf, documentedCells, type EndedRun, writeCells } from './failure-cells.js';
import { installedAgents, MODEL, skipReason } from './installed-agents.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const KEY = 'sk-of-the-team-0123456789abcdef';
const WRONG_KEY = 'sk-of-another-team-9876543210';
/** Longer than Gemini CLI repeats a request, which is the most patient one. */
const PROGRESS_TIMEOUT_SECONDS = 300;
const CELL_MS = 400_000;
const ASK_MS = 90_000;
const MAX_CELLS_MS = 900_000;
/** Most of them wait. */
const CONCURRENCY = 12;
const PATIENT: readonly string[] = ['gemini', 'qwen', 'opencode'];
/** Agents whose program is started by an adapter. */
const ADAPTERS: readonly string[] = ['claude', 'codex'];
const BUILTIN = 'oz';
const NOT_TRIED = 'not tried';
const NO_MODEL = '–';

/** Qwen Code repeats requests for more than four minutes by default. */
function withFewRetries(id: string, entry: Partial<HarnessDefinition>): Partial<HarnessDefinition> {
  if (id !== 'qwen') return entry;
  // The agent would replace the file in a directory that it may write to.
  const place = join(directory, 'qwen');
  mkdirSync(place, { mode: 0o755 });
  const settings = join(place, 'settings.json');
  writeFileSync(settings, JSON.stringify({ model: { generationConfig: { maxRetries: 0 } } }));
  return { ...entry, env: { ...entry.env, QWEN_CODE_SYSTEM_SETTINGS_PATH: settings } };
}

interface Fault {
  readonly name: string;
  /** What the model answers; without it the model wants to run a command. */
  readonly script?: string;
  readonly secret?: string;
  readonly isGone?: boolean;
  /** Ends this process of the agent while its model answers. */
  readonly kills?: 'agent' | 'program';
}

const FAULTS: readonly Fault[] = [
  { name: 'no key' },
  { name: 'wrong key', secret: 'wrong-key' },
  { name: 'unknown model', script: 'FAIL: 404', secret: 'model-key' },
  { name: '429', script: 'FAIL: 429', secret: 'model-key' },
  { name: '429, `Retry-After: 5`', script: 'FAIL: 429 5', secret: 'model-key' },
  { name: 'no credits', script: 'FAIL: quota', secret: 'model-key' },
  { name: '500', script: 'FAIL: 500', secret: 'model-key' },
  { name: 'connection cut before the answer', script: 'FAIL: cut', secret: 'model-key' },
  { name: 'connection cut in the answer', script: 'FAIL: midway', secret: 'model-key' },
  { name: 'connection refused', secret: 'model-key', isGone: true },
  { name: 'agent killed', script: 'HANG', secret: 'model-key', kills: 'agent' },
  { name: 'program behind the adapter killed', script: 'HANG', secret: 'model-key', kills: 'program' },
];

interface Cell {
  readonly fault: Fault;
  readonly id: string;
}

interface Measured {
  readonly cell: string;
  readonly run: EndedRun;
  readonly hasRunCommand: boolean;
}

const agents = installedAgents();
const ids = [...agents.map(({ id }) => id), BUILTIN];
const isTried = ({ fault: { kills }, id }: Cell): boolean =>
  kills === 'program' ? ADAPTERS.includes(id) : kills === 'agent' || id !== BUILTIN;
const cells: readonly Cell[] = FAULTS.flatMap((fault) => ids.map((id) => ({ fault, id }))).filter(isTried);
const nameOf = ({ fault, id }: Cell): string => `${id}, ${fault.name}`;
const measured = new Map<string, Measured>();

let directory: string;
let models: ModelServer;
let installation: Installation;
let server: Program;
/** Of each harness: its model endpoint is a port that nobody listens on. */
const withoutServer = new Map<string, string>();

beforeAll(async () => {
  if (skipReason !== null) return;
  directory = mkdtempSync(join(tmpdir(), 'headrace-failures-test-'));
  // Agents may have separate users.
  chmodSync(directory, 0o777);
  models = await ModelServer.start(KEY);
  const file = join(directory, 'harnesses.json');
  const harnesses = Object.fromEntries(agents.map(({ id, entry }) => [id, withFewRetries(id, entry(models.url))]));
  writeFileSync(file, JSON.stringify({ harnesses }));
  installation = await Installation.create({
    HARNESSES_FILE: file,
    MAX_IDLE_SESSIONS: '0',
    MAX_CONCURRENT_RUNS: String(CONCURRENCY),
    MAX_CONCURRENT_RUNS_PER_TEAM: String(CONCURRENCY),
    LEASE_TTL: '2min',
    AGENT_PROGRESS_TIMEOUT: `${PROGRESS_TIMEOUT_SECONDS}s`,
    API_RATE_PER_MINUTE: '0',
  });
  server = await installation.up();
  for (const [name, value] of Object.entries({ 'model-key': KEY, 'wrong-key': WRONG_KEY }))
    expect(await installation.call('PUT', `/secrets/${name}`, { value })).toMatchObject({ status: 200 });
  const gone = `http://127.0.0.1:${await freePort()}`;
  for (const { id, entry } of agents) {
    const config = { name: `${id} without its model`, env: entry(gone).env };
    const { status, body } = await installation.call('POST', '/environments', { config });
    expect(status, JSON.stringify(body)).toBe(201);
    withoutServer.set(id, body.uid as string);
  }
  await measureAll();
}, MAX_CELLS_MS);

afterAll(async () => {
  if (skipReason !== null) return;
  await server.stopCleanly('SIGINT');
  await models.stop();
  installation.remove();
  rmSync(directory, { recursive: true });
});

async function measureAll(): Promise<void> {
  // The longest first.
  const isLong = ({ id, fault }: Cell): number => Number(PATIENT.includes(id) || fault.isGone === true);
  const rest = [...cells].sort((one, other) => isLong(other) - isLong(one));
  const work = async (): Promise<void> => {
    for (let cell = rest.shift(); cell !== undefined; cell = rest.shift())
      measured.set(nameOf(cell), await measure(cell).catch(unmeasured));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

/** Fails the test of this cell only. */
const unmeasured = (error: unknown): Measured => ({
  cell: String(error),
  run: { state: 'not known' },
  hasRunCommand: false,
});

async function measure({ fault, id }: Cell): Promise<Measured> {
  const witness = join(directory, `${id}-${FAULTS.indexOf(fault)}`);
  const marker = `Cell ${id} ${FAULTS.indexOf(fault)}.`;
  const command = id === BUILTIN ? '```sh\nsleep 600\n```' : (fault.script ?? `RUN: touch ${witness}`);
  const runId = await installation.createRun(`${marker}\n${command}`, {
    config: {
      ...(fault.isGone === true ? { environment_id: withoutServer.get(id) } : {}),
      harness: { type: id, ...(id === BUILTIN ? {} : { model_id: id === 'opencode' ? `test/${MODEL}` : MODEL }) },
      ...(fault.secret === undefined || id === BUILTIN
        ? {}
        : { harness_auth_secrets: { [`${id}_auth_secret_name`]: fault.secret } }),
      ...(id === BUILTIN ? {} : { permission_policy: 'ask' }),
    },
  });
  if (fault.kills !== undefined) await killInTurn(runId, marker, fault.kills, id);
  const run = (await installation.waitFor(runId, ENDED, CELL_MS)) as EndedRun;
  const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
  const waiting = (body.events as { event_type: string; payload: { message?: string } }[]).flatMap((event) =>
    event.event_type === 'agent_waiting' ? [event.payload.message ?? ''] : [],
  );
  const cell = cellOf(run, waiting);
  console.log(`${id} | ${fault.name} | ${cell} | ${JSON.stringify({ status: run.status_message, waiting })}`);
  return { cell, run, hasRunCommand: existsSync(witness) };
}

/** When the model has got the prompt, or the built-in agent executes its command. */
async function killInTurn(runId: string, marker: string, which: 'agent' | 'program', id: string): Promise<void> {
  if (id === BUILTIN) await until(() => processesOf(runId).some(({ argv }) => argv.join(' ') === 'sleep 600'), ASK_MS);
  else
    await models.until(() => models.requests.some(({ body }) => body.includes(marker)), `${id} asks its model`, ASK_MS);
  const all = processesOf(runId);
  const [agent] = all.filter(({ parent }) => !all.some(({ pid }) => pid === parent));
  if (!agent) throw new Error(`The run ${runId} has no process.`);
  const [program] = all.filter(({ parent }) => parent === agent.pid);
  if (which === 'program' && !program) throw new Error(`${id} has not started a program.`);
  process.kill(which === 'agent' || !program ? agent.pid : program.pid, 'SIGKILL');
}

const processesOf = (runId: string) =>
  descendants(server.child.pid ?? 0).filter(({ pid }) => environmentOf(pid).includes(`HEADRACE_RUN_ID=${runId}\0`));

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return ''; // ended meanwhile
  }
}

const isUpdate = process.env['HEADRACE_UPDATE_TABLES'] === '1';

describe.skipIf(skipReason !== null)('failures of agents and their models', () => {
  it.runIf(isUpdate)('are written into the table of docs/harnesses.md', () => {
    const row = (fault: Fault) =>
      ids.map((id) => {
        const { cell = isTried({ fault, id }) ? NOT_TRIED : NO_MODEL } = measured.get(nameOf({ fault, id })) ?? {};
        return [id, cell] as const;
      });
    const rows = FAULTS.map((fault) => [fault.name, Object.fromEntries(row(fault))] as const);
    writeCells(rows, ids);
  });

  it.each(cells.map((cell) => [nameOf(cell), cell] as const))('end as documented (%s)', (name, { fault, id }) => {
    const { cell, run, hasRunCommand } = measured.get(name) ?? {};
    expect(run?.state).toBe('FAILED');
    expect(hasRunCommand).toBe(false);
    const { message = '', detail = '' } = run?.status_message ?? {};
    expect(`${message}\n${detail}`).not.toMatch(/\n\s*at |file:\/\/|node_modules|^\{/);
    expect(`${message}\n${detail}`).not.toContain(KEY);
    expect(`${message}\n${detail}`).not.toContain(WRONG_KEY);
    expect(cell).toBe(documentedCells()[fault.name.replaceAll('`', '')]?.[id]);
  });
});

// A reason that can be read in the report, instead of an empty file.
if (skipReason !== null) it.skip(`failures are not tested: ${skipReason}`, () => undefined);
