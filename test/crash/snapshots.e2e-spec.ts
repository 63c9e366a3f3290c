import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answersIn, until } from '../support/installation.js';
import { SNAPSHOT_SETUPS, type SnapshotSetup } from './snapshot-setups.js';
import { isLong } from '../support/long-tests.js';

/** With a kill each. The short test has those of one server only. */
const TURNS: Readonly<Record<string, number>> = isLong
  ? { 'one server': 72, 'separate processes': 64, 'a self-hosted worker': 64 }
  : { 'one server': 3 };
const INTERVAL_MS = 1000;
/** A snapshot needs time, and so does the control plane to see what was killed. */
const MARGIN_MS = 2000;
const OPERATIONS = 60;
const OPERATION_MS = 100;
const FILES = ['f0', 'f1', 'f2', 'f3'];
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

/** Each operation writes its name to one of the files, then to the log with the time. The first line identifies the files. */
const turnScript = (turn: number): string =>
  [
    '```sh',
    `echo "files $(cat log ${FILES.join(' ')} 2> /dev/null | sha256sum | cut -c1-16) at turn ${turn}"`,
    `for i in $(seq 0 ${OPERATIONS - 1}); do`,
    `  echo ${turn}.$i > f$((i % ${FILES.length})); echo "${turn}.$i $(date +%s%3N)" >> log; sleep ${OPERATION_MS / 1000}`,
    'done',
    `echo "end of turn ${turn}"`,
    '```',
  ].join('\n');

const seed = Number(process.env.SNAPSHOTS_SEED ?? Math.floor(Math.random() * 1_000_000));
let state = seed;
/** Whole numbers from 0, below `limit`. */
function random(limit: number): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((state / 2_147_483_648) * limit);
}

describe.each(Object.entries(TURNS))('an installation of %s', (name, turns) => {
  let setup: SnapshotSetup;

  beforeAll(async () => {
    const open = SNAPSHOT_SETUPS[name];
    if (open === undefined) throw new Error(`There is no installation of ${name}.`);
    setup = await open({
      MAX_IDLE_SESSIONS: '0',
      SNAPSHOT_INTERVAL: `${INTERVAL_MS}ms`,
      API_RATE_PER_MINUTE: '0',
    });
  });
  afterAll(() => setup.close());

  const call = (method: string, path: string, body?: unknown) =>
    until(
      async () => {
        const answer = await setup.call(method, path, body).catch(() => null);
        return answer !== null && answer.status < 500 && answer.status !== 409 ? answer : null;
      },
      60_000,
      `an answer to ${method} ${path}`,
    );

  it(
    `continues with the files of the last snapshot after each of ${turns} turns with a kill (SNAPSHOTS_SEED=${seed})`,
    { timeout: turns * 40_000 },
    async () => {
      const config = { ...setup.config, idle_timeout_minutes: 0 };
      const created = await call('POST', '/agent/runs', { prompt: turnScript(0), config });
      expect(created.status).toBe(200);
      const runId: string = created.body.run_id;
      const ended = (): Promise<{ readonly state: string }> =>
        until(
          async () => {
            const { body } = await call('GET', `/agent/runs/${runId}`);
            return ENDED.includes(body.state) && body;
          },
          60_000,
          'the end of the turn',
        );
      await ended();
      const conversation = async (): Promise<string> =>
        answersIn((await call('GET', `/agent/runs/${runId}/conversation`)).body);
      const fileAt = async (path: string, snapshotId: string): Promise<string> => {
        const { status, body } = await call('GET', `/agent/runs/${runId}/files?path=${path}&at=${snapshotId}`);
        expect(status, JSON.stringify(body)).toBe(200);
        return body;
      };
      /**
       * Ids of the snapshots with which the last turn can have begun, the last one first: it was restored, or made at the end of
       * the turn before in the same session, which executes two messages when the first of them did not reach an agent that was
       * killed. The last one may be of the end of this turn.
       */
      const lastBeginnings = async (): Promise<string[]> => {
        const found = new Set<string>();
        for (let query = ''; ;) {
          const { events, page_info: page } = (await call('GET', `/agent/runs/${runId}/timeline${query}`)).body;
          for (const { event_type: type, payload } of events)
            if (type === 'workspace_restored' || (type === 'workspace_snapshot' && payload.reason === 'turn'))
              found.add(payload.snapshot_id as string);
          if (page === undefined) return [...found].slice(-2).reverse();
          query = `?cursor=${encodeURIComponent(page.next_cursor as string)}`;
        }
      };
      let lastEnded = 0;
      let newestWrite = 0;
      const killed: Record<string, number> = {};
      for (let turn = 1; turn <= turns; turn += 1) {
        const part = setup.parts[turn % setup.parts.length] ?? '';
        const isLate = isLong ? random(2) === 0 : turn % 2 === 1;
        const waitMs = random(isLate ? 2000 : 7000);
        expect(await call('POST', `/agent/runs/${runId}/followups`, { message: turnScript(turn) })).toMatchObject({
          status: 200,
        });
        if (isLate) {
          await until(
            async () => (await conversation()).includes(`at turn ${turn}`),
            30_000,
            `the start of turn ${turn}`,
          );
          // Longer than a snapshot may be old: the one of the turn before is too old.
          await delay(INTERVAL_MS + MARGIN_MS + waitMs);
        } else await delay(waitMs);
        const killedAt = Date.now();
        if (await setup.kill(part)) killed[part] = (killed[part] ?? 0) + 1;
        const run = await ended();
        const text = await conversation();
        const [, checksum] = new RegExp(`files (\\w+) at turn ${turn}\\b`).exec(text) ?? [];
        // Of a turn that was killed before its agent began, the next one shows the files.
        if (checksum !== undefined) {
          const found: Record<string, readonly string[]> = {};
          for (const snapshotId of await lastBeginnings()) {
            const contents = await Promise.all(['log', ...FILES].map((path) => fileAt(path, snapshotId)));
            found[createHash('sha256').update(contents.join('')).digest('hex').slice(0, 16)] = contents;
          }
          expect(Object.keys(found), `turn ${turn}, ${part}`).toContain(checksum);
          const log = expectPossible(found[checksum] ?? []);
          expect(log.some(({ name: operation }) => operation === `${lastEnded}.${OPERATIONS - 1}`)).toBe(true);
          expect(log.at(-1)?.at).toBeGreaterThanOrEqual(newestWrite);
        }
        if (run.state === 'SUCCEEDED' && text.includes(`end of turn ${turn}`)) lastEnded = turn;
        else if (isLate && checksum !== undefined) newestWrite = killedAt - INTERVAL_MS - MARGIN_MS;
      }
      for (const part of setup.parts) expect(killed[part], part).toBeGreaterThan(0);
    },
  );
});

/** The files are those after an operation, or between the two writes of one. */
function expectPossible([log = '', ...files]: readonly string[]): { name: string; at: number }[] {
  const operations = log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '))
    .map(([name = '', at = '0']) => ({ name, at: Number(at) }));
  const last = new Map(operations.map(({ name }) => [Number(name.split('.')[1]) % FILES.length, name]));
  const [turn = 0, operation = 0] = (operations.at(-1)?.name ?? '').split('.').map(Number);
  const isNext = (name: string): boolean => {
    const [ofTurn = 0, number = 0] = name.split('.').map(Number);
    return ofTurn === turn ? number === operation + 1 : ofTurn > turn && number === 0;
  };
  // The shell empties the file of the next operation before it writes to it.
  const isEmptied = (name: string, index: number): boolean =>
    name === '' && (index === 0 || index === (operation + 1) % FILES.length);
  const different = files
    .map((text) => text.trim())
    .filter((name, index) => name !== last.get(index) && !isNext(name) && !isEmptied(name, index));
  expect(different, `after ${operations.at(-1)?.name}`).toEqual([]);
  return operations;
}
