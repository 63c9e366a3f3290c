import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltRun, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const ended = (shape: object = {}): Promise<BuiltRun> =>
  fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'SUCCEEDED', prompt: 'Before', ...shape });

/** Creates a run that continues the conversation, and gives it to a runner. */
async function continueConversation({ conversationId }: BuiltRun): Promise<{ runId: string; runner: TestRunner }> {
  const { body } = await fixture.request(200, 'POST /agent/runs', {
    token: fixture.member.token,
    body: { prompt: 'After', conversation_id: conversationId },
  });
  return { runId: body.run_id, runner: await TestRunner.take(fixture.api, body.run_id) };
}
const transcriptOf = (status: number, runner: TestRunner) => runner.call(status, 'GET transcript');

describe('a run created with a conversation_id', () => {
  it('gets its own copy of the transcript, and the session to resume with its own first prompt', async () => {
    const before = await ended({ transcript: 'so far\n' });
    const { runId, runner } = await continueConversation(before);
    expect(runner.assignment).toMatchObject({
      prompt: 'After',
      resume: { session_id: `session-${before.id}`, transcript: true },
    });
    expect((await transcriptOf(200, runner)).text).toBe('so far\n');
    const rows = await fixture.database.query<{ id: string; key: string }>(
      `SELECT id, transcript->>'key' AS key FROM runs WHERE id = ANY($1)`,
      [[before.id, runId]],
    );
    for (const { id, key } of rows) expect(key.startsWith(`transcripts/${id}/`)).toBe(true);
    expect(rows).toHaveLength(2);
  });

  it('starts a new session when the transcript of the earlier one was not stored', async () => {
    const { runner } = await continueConversation(await ended());
    expect(runner.assignment.prompt).toBe('After');
    expect(runner.assignment.resume?.transcript ?? false).toBe(false);
    await transcriptOf(404, runner);
  });

  it('is part of the conversation from then on', async () => {
    const before = await ended({ transcript: 'so far\n' });
    const { runner } = await continueConversation(before);
    await runner.report(
      ['sandbox_ready'],
      ['session_started', { session_id: `session-${before.id}`, resumed: true }],
      ['agent_started', { harness: 'oz' }],
      ['turn_started', { turn_id: 't-after', prompt: 'After' }],
      ['turn_ended', { turn_id: 't-after', stop_reason: 'end_turn' }],
    );
    const { body } = await fixture.request(200, `GET /agent/conversations/${before.conversationId}`, {
      token: fixture.member.token,
    });
    const steps = body.steps.map(({ description }: { description?: string }) => description) as string[];
    expect(steps.filter((description) => description !== 'Setup')).toEqual(['Before', 'After']);
  });
});
