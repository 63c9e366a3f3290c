import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { RunBuilder, startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { headrace } from '../support/command-line.js';

let api: TestApi;
let directory: string;
let team: string;
let member: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  member = await api.identities.user({ [team]: 'member' });
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-cli-'));
  vi.stubEnv('DATABASE_URL', api.database.url);
  vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'data'));
  vi.stubEnv('SECRETS_KEY', api.settings.secretsKey ?? '');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await api.close();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  vi.stubEnv('HEADRACE_TOKEN', member.token);
  await api.database.query('DELETE FROM approvals');
});

/** Runs `headrace approval …`, expects this exit code and returns the output. */
const approval = (code: number, ...args: string[]) => headrace(code, 'approval', ...args, '--url', api.url);
const createBlockedRun = (approvals = 1) =>
  new RunBuilder(api.database).build({ by: member, team, state: 'BLOCKED', approvals, title: 'Release' });
const approvals = async (runId: string) =>
  (await api.request(200, `GET /agent/runs/${runId}/approvals`, { token: member.token })).body.approvals;

describe('headrace approval', () => {
  it('lists pending permission requests over several pages without answered ones', async () => {
    const { id, approvalIds } = await createBlockedRun(101);
    const [first = '', second = ''] = approvalIds;
    await approval(0, 'allow', first, '--run', id);
    const { output, errors } = await approval(0, 'list', '--team', team);
    const lines = output.trim().split('\n');
    expect(lines).toHaveLength(101);
    expect(lines[0]).toMatch(/^APPROVAL +RUN +RUN TITLE +ASKS +ASKED +DENIED AT$/);
    expect(lines.join('\n')).toMatch(new RegExp(`${second} +${id} +Release +Run \`make deploy\` +2\\d{3}-`));
    expect(lines.join('\n')).not.toContain(first);
    expect(errors).toBe('');
  });

  it('allows a request once or with --always, and denies one with a note, with and without --run', async () => {
    const { id, approvalIds } = await createBlockedRun(3);
    const [one = '', two = '', three = ''] = approvalIds;
    expect((await approval(0, 'allow', one)).output).toBe('allowed\n');
    expect((await approval(0, 'allow', two, '--always', '--run', id)).output).toBe('allowed\n');
    expect((await approval(0, 'deny', three, '--note', 'Not today.')).output).toBe('denied\n');
    const byId = Object.fromEntries(
      (await approvals(id)).map((item: { approval_id: string }) => [item.approval_id, item]),
    );
    expect(byId[one]).toMatchObject({ state: 'allowed', decided_by: { uid: member.uid } });
    expect(byId[one]).not.toHaveProperty('always');
    expect(byId[two]).toMatchObject({ state: 'allowed', always: true });
    expect(byId[three]).toMatchObject({ state: 'denied', note: 'Not today.' });
  });

  it('exits with 1 for a request that is answered, unknown, ambiguous or not accessible', async () => {
    const { id, approvalIds } = await createBlockedRun();
    const [one = ''] = approvalIds;
    await approval(0, 'deny', one);
    expect((await approval(1, 'allow', one, '--run', id)).errors).toContain('decided before: it is denied');
    expect((await approval(1, 'allow', one)).errors).toContain('`headrace approval list` shows');
    const [firstRun, secondRun] = [await createBlockedRun(), await createBlockedRun()];
    await api.database.query(`UPDATE approvals SET id = 'same' WHERE run_id = ANY($1::uuid[])`, [
      [firstRun.id, secondRun.id],
    ]);
    expect((await approval(1, 'allow', 'same')).errors).toContain('--run');
    await approval(0, 'allow', 'same', '--run', secondRun.id);
    vi.stubEnv('HEADRACE_TOKEN', (await api.identities.user({ [team]: 'viewer' })).token);
    expect((await approval(1, 'allow', 'same')).errors).not.toBe('');
    expect((await approvals(firstRun.id))[0].state).toBe('pending');
  });

  it.each([[['allow']], [['deny', 'a', 'b']], [['allow', 'a', '--run', ' ']], [['deny', 'a', '--always']]])(
    'rejects the arguments %j with exit code 2',
    async (args) => {
      expect((await approval(2, ...args)).errors).toContain('headrace approval');
    },
  );
});
