import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;
beforeAll(async () => {
  // A limit of which a quarter is no whole number of bytes.
  fixture = await ApiFixture.start({ settings: { maxOutputBytes: 10_000_001 } });
});
afterAll(() => fixture.close());

interface Working {
  readonly runId: string;
  readonly runner: TestRunner;
  /** Number of its last event. */
  readonly sent: number;
}

async function working(): Promise<Working> {
  const { body } = await fixture.request(200, 'POST /agent/runs', {
    token: fixture.member.token,
    body: { prompt: 'Go.' },
  });
  const runner = await TestRunner.take(fixture.api, body.run_id);
  await runner.startAgent();
  const { acked_seq: sent } = await runner.report(['turn_started', { turn_id: 't', prompt: 'Go.' }]);
  return { runId: body.run_id, runner, sent };
}

const chunk = (text: string) => ['message_chunk', { message_id: 'm', text }] as const;

/** Reports with numbers of the test, as a runner that repeats a request. */
const reportAs = async (
  { runner }: Working,
  from: number,
  texts: readonly string[],
  epoch = runner.assignment.lease_epoch,
  status = 200,
) =>
  (
    await fixture.request(status, `POST /runner/v1/executions/${runner.assignment.execution_id}/events`, {
      token: runner.token,
      body: {
        lease_epoch: epoch,
        events: texts.map((text, index) => ({
          source_seq: from + index,
          kind: 'message_chunk',
          data: { message_id: 'm', text },
        })),
      },
    })
  ).body;

const logOf = (runId: string) =>
  fixture.database.query<{ seq: number; kind: string; text: string | null }>(
    `SELECT seq::int, kind, data->>'text' AS text FROM run_events WHERE run_id = $1 ORDER BY seq`,
    [runId],
  );
const textsOf = async (runId: string) =>
  (await logOf(runId)).flatMap(({ kind, text }) => (kind === 'message_chunk' ? [text] : []));

describe('batches of events without an effect', () => {
  it('of many runners at the same time are each stored once, in order and without a gap', async () => {
    const runs: Working[] = [];
    for (let index = 0; index < 12; index += 1) runs.push(await working());
    await Promise.all(
      runs.map(async ({ runner }) => {
        for (let batch = 0; batch < 5; batch += 1)
          await runner.report(...Array.from({ length: 7 }, (_, index) => chunk(`${batch}.${index}`)));
      }),
    );
    const expected = Array.from({ length: 35 }, (_, index) => `${Math.floor(index / 7)}.${index % 7}`);
    for (const { runId } of runs) {
      expect(await textsOf(runId)).toEqual(expected);
      const log = await logOf(runId);
      expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
      const [head] = await fixture.database.query('SELECT last_seq::int FROM run_heads WHERE run_id = $1', [runId]);
      expect(head).toEqual({ last_seq: log.length });
    }
  });

  it('are stored once when a runner repeats them, also at the same time', async () => {
    const run = await working();
    const answers = await Promise.all(Array.from({ length: 6 }, () => reportAs(run, run.sent + 1, ['one', 'two'])));
    expect(answers.map(({ acked_seq }) => acked_seq)).toEqual(Array.from({ length: 6 }, () => run.sent + 2));
    expect(await reportAs(run, run.sent + 2, ['two', 'three'])).toMatchObject({ acked_seq: run.sent + 3 });
    expect(await textsOf(run.runId)).toEqual(['one', 'two', 'three']);
  });

  it('after a gap are not stored, and those of another lease are rejected', async () => {
    const run = await working();
    expect(await reportAs(run, run.sent + 2, ['late'])).toMatchObject({ acked_seq: run.sent });
    expect(await reportAs(run, run.sent + 1, ['other'], run.runner.assignment.lease_epoch + 1, 412)).toHaveProperty(
      'error_code',
    );
    expect(await textsOf(run.runId)).toEqual([]);
  });

  it('of an execution that is locked do not delay those of others', async () => {
    const [held, other] = [await working(), await working()];
    const client = new pg.Client({ connectionString: fixture.database.url, options: '-c search_path=headrace' });
    await client.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT FROM executions WHERE id = $1 FOR UPDATE', [held.runner.assignment.execution_id]);
      const waiting = reportAs(held, held.sent + 1, ['waits']);
      expect(await reportAs(other, other.sent + 1, ['continues'])).toMatchObject({ acked_seq: other.sent + 1 });
      expect(await textsOf(held.runId)).toEqual([]);
      await client.query('COMMIT');
      expect(await waiting).toMatchObject({ acked_seq: held.sent + 1 });
      expect(await textsOf(held.runId)).toEqual(['waits']);
    } finally {
      await client.end();
    }
  });

  it('tell the runner of a run that was cancelled to stop', async () => {
    const run = await working();
    await fixture.request(200, `POST /agent/runs/${run.runId}/cancel`, { token: fixture.member.token });
    expect(await reportAs(run, run.sent + 1, ['after'])).toMatchObject({ acked_seq: run.sent + 1, desired: 'stop' });
  });
});
