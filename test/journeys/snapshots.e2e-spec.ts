import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answersIn, Installation, type Program, until } from '../support/installation.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

describe('a run whose session has ended', { timeout: 60_000 }, () => {
  let installation: Installation;
  let server: Program;

  beforeAll(async () => {
    installation = await Installation.create({ MAX_IDLE_SESSIONS: '0', LEASE_TTL: '5s' });
    server = await installation.up();
  });
  afterAll(async () => {
    await server.stop('SIGTERM');
    installation.remove();
  });

  const conversationOf = async (runId: string): Promise<string> =>
    answersIn((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body);
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const timelineOf = async (runId: string, type: string): Promise<any[]> =>
    (await installation.call('GET', `/agent/runs/${runId}/timeline`)).body.events.filter(
      ({ event_type: kind }: { event_type: string }) => kind === type,
    );
  const execute = async (script: string, fields: object = {}): Promise<string> => {
    const runId = await installation.createRun(sh(script), fields);
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    return runId;
  };
  const sessionEnds = (runId: string, count = 1): Promise<unknown> =>
    until(async () => (await timelineOf(runId, 'sandbox_shutdown')).length >= count, 20_000, 'the end of the session');
  const followUp = async (runId: string, script: string): Promise<string> => {
    await sessionEnds(runId);
    const { status } = await installation.call('POST', `/agent/runs/${runId}/followups`, { message: sh(script) });
    expect(status).toBe(200);
    await until(async () => (await conversationOf(runId)).includes('all of it'), 30_000, 'the second turn');
    return conversationOf(runId);
  };

  it('continues a run with its files after the session has ended', async () => {
    const runId = await execute(
      [
        'git init -q . && git config user.email a@example.test && git config user.name a',
        'echo one > tracked && git add . && git commit -qm first && git checkout -qb work',
        'echo two > tracked && echo staged > staged && git add staged && echo new > "not tracked" && ln -s tracked link && chmod 750 "not tracked"',
        'git status --porcelain=v2 --branch > ../home/status',
      ].join('\n'),
    );
    const said = await followUp(
      runId,
      'git status --porcelain=v2 --branch | diff - ../home/status && cat tracked staged "not tracked"; readlink link; stat -c %a "not tracked"; echo all of it',
    );
    for (const text of ['two', 'staged', 'new', 'tracked', '750']) expect(said).toContain(text);
    expect(said).not.toContain('< ');
    expect(await timelineOf(runId, 'workspace_restored')).toMatchObject([{ payload: { entries: expect.any(Number) } }]);
    expect((await timelineOf(runId, 'workspace_snapshot')).length).toBeGreaterThanOrEqual(1);
    expect(await timelineOf(runId, 'workspace_snapshot_failed')).toEqual([]);
  });
});
