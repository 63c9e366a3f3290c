import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type WorkTreeStep, workTreeStep } from '#testing';
import { answersIn, Installation, type Program, until } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';

const RUNS = isLong ? 60 : 2;
const SESSIONS = isLong ? 6 : 3;
const CONCURRENT = 4;
const SEED = Number(process.env.WORK_TREES_SEED ?? Math.floor(Math.random() * 1_000_000));
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

interface Report {
  readonly root: string;
  readonly files: readonly string[];
  readonly git: readonly string[];
}

/** What each session of a run does. */
const plans: readonly WorkTreeStep[][][] = fc.sample(
  fc.array(fc.array(workTreeStep, { minLength: 1, maxLength: 12 }), { minLength: SESSIONS, maxLength: SESSIONS }),
  { numRuns: RUNS, seed: SEED },
);

describe('random work trees of runs', () => {
  let installation: Installation;
  let server: Program;
  let directory: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-work-trees-'));
    chmodSync(directory, 0o755);
    // Agents run as separate users.
    mkdirSync(join(directory, 'reports'));
    chmodSync(join(directory, 'reports'), 0o1777);
    copyFileSync(join(inject('programsDir'), 'work-tree-process.js'), join(directory, 'program.mjs'));
    installation = await Installation.create({
      MAX_IDLE_SESSIONS: '0',
      LEASE_TTL: '10s',
      API_RATE_PER_MINUTE: '0',
      MAX_CONCURRENT_RUNS: String(CONCURRENT),
      MAX_CONCURRENT_RUNS_PER_TEAM: String(CONCURRENT),
    });
    server = await installation.up();
  });
  afterAll(async () => {
    await server.stop('SIGTERM');
    installation.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const timelineOf = async (runId: string): Promise<any[]> =>
    (await installation.call('GET', `/agent/runs/${runId}/timeline`)).body.events;

  const sessionEnds = (runId: string, count: number): Promise<unknown> =>
    until(
      async () =>
        (await timelineOf(runId)).filter(({ event_type: type }) => type === 'sandbox_shutdown').length >= count,
      60_000,
      'the end of the session',
    );

  const reportOf = (path: string): Report => JSON.parse(readFileSync(path, 'utf8')) as Report;

  /** Resolves with how often the work tree was compared after a restore. */
  async function execute(run: number, sessions: readonly WorkTreeStep[][]): Promise<number> {
    const file = (kind: string, session: number): string =>
      join(directory, 'reports', `${run}.${session}.${kind}.json`);
    const prompt = (session: number): string => {
      const plan = join(directory, `${run}.${session}.json`);
      const [found, made] = [file('found', session), file('made', session)];
      writeFileSync(plan, JSON.stringify({ steps: sessions[session], first: session === 0, found, made }));
      return `\`\`\`sh\n'${process.execPath}' '${join(directory, 'program.mjs')}' '${plan}'\n\`\`\``;
    };
    const runId = await installation.createRun(prompt(0), { config: { idle_timeout_minutes: 0 } });
    for (let session = 0; session < sessions.length; session += 1) {
      const where = `run ${run}, session ${session}, WORK_TREES_SEED=${SEED}`;
      if (session > 0) {
        const { status } = await installation.call('POST', `/agent/runs/${runId}/followups`, {
          message: prompt(session),
        });
        expect(status, where).toBe(200);
      }
      await sessionEnds(runId, session + 1);
      expect(await installation.waitFor(runId, ENDED, 60_000), where).toMatchObject({ state: 'SUCCEEDED' });
      const { body: conversation } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
      expect(answersIn(conversation).split('The work tree is made.'), where).toHaveLength(session + 2);
      if (session === 0) continue;
      const [made, found] = [reportOf(file('made', session - 1)), reportOf(file('found', session))];
      expect(found.root, where).not.toBe(made.root);
      expect(found.files, where).toEqual(made.files);
      expect(found.git, where).toEqual(made.git);
      rmSync(file('made', session - 1));
      rmSync(file('found', session));
    }
    const timeline = await timelineOf(runId);
    const restored = timeline.filter(({ event_type: type }) => type === 'workspace_restored');
    expect(restored).toHaveLength(sessions.length - 1);
    for (const { payload } of restored) expect(payload).not.toHaveProperty('problems');
    const failures = timeline.filter(({ event_type: type }) => type === 'workspace_snapshot_failed');
    expect(failures, `run ${run}, WORK_TREES_SEED=${SEED}`).toEqual([]);
    return restored.length;
  }

  it(
    `are the same in the workspace of each of ${RUNS * (SESSIONS - 1)} later sessions (WORK_TREES_SEED=${SEED})`,
    { timeout: RUNS * SESSIONS * 10_000 },
    async () => {
      const queue = [...plans.entries()];
      const compared: number[] = [];
      const work = async (): Promise<void> => {
        for (let next = queue.shift(); next; next = queue.shift()) compared.push(await execute(...next));
      };
      await Promise.all(Array.from({ length: CONCURRENT }, work));
      expect(compared.reduce((sum, count) => sum + count, 0)).toBe(RUNS * (SESSIONS - 1));
    },
  );
});
