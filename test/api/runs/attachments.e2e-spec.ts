import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ExecutionTokens } from '#execution/executions';
import { ObjectDisposal } from '#platform/storage';
import { TestRunner } from '#testing';
import { RunInserts } from '../../../libs/domain/runs/src/persistence/run-inserts.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, UNKNOWN_RUN_ID } from '../../support/api-requests.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const base64 = (content: string | Buffer): string => Buffer.from(content).toString('base64');
const NOTES = { file_name: 'notes.md', mime_type: 'text/markdown', data: base64('# Notes – 😀') };
const IMAGE = { file_name: 'image.png', mime_type: 'image/png', data: base64(Buffer.from([0x89, 0x50, 0])) };

const create = (status: number, attachments: object[], headers: Record<string, string> = {}) =>
  fixture.request(status, 'POST /agent/runs', {
    token: fixture.member.token,
    headers,
    body: { prompt: 'Look at these.', attachments },
  });
async function createRun(attachments: object[]): Promise<string> {
  return (await create(200, attachments)).body.run_id;
}
const list = async (runId: string, token = fixture.member.token) =>
  (await fixture.request(200, `GET /agent/runs/${runId}/handoff/attachments`, { token })).body.attachments as {
    attachment_id: string;
    filename: string;
    download_url: string;
    mime_type: string;
  }[];
const follow = (status: number, url: string) =>
  fixture.api.atOrigin(status, `GET ${url.slice(fixture.api.url.length)}`);
const objects = (): string[] => {
  const directory = join(fixture.api.settings.dataDir, 'objects', 'attachments');
  return existsSync(directory) ? readdirSync(directory) : [];
};

describe('a run created with attachments', () => {
  it('returns them in order, with links that need no token', async () => {
    const attachments = await list(await createRun([NOTES, IMAGE]), fixture.viewer.token);
    expect(attachments).toEqual([
      expect.objectContaining({ filename: 'notes.md', mime_type: 'text/markdown' }),
      expect.objectContaining({ filename: 'image.png', mime_type: 'image/png' }),
    ]);
    expect(Object.keys(attachments[0] ?? {}).sort()).toEqual([
      'attachment_id',
      'download_url',
      'filename',
      'mime_type',
    ]);
    const notes = await follow(200, attachments[0]?.download_url ?? '');
    expect(notes.text).toBe('# Notes – 😀');
    expect(notes.headers.get('content-type')).toBe('text/markdown');
    expect(notes.headers.get('content-disposition')).toContain('attachment');
    expect(notes.headers.get('content-disposition')).toContain('notes.md');
    const image = await follow(200, attachments[1]?.download_url ?? '');
    expect(image.headers.get('content-length')).toBe('3');
    await follow(403, (attachments[0]?.download_url ?? '').replace('signature=', 'signature=x'));
    expect(fixture.api.log.text).not.toContain(NOTES.data);
  });

  it('returns an empty list when it has none', async () => {
    expect(await list(await createRun([]))).toEqual([]);
  });

  it('accepts five, also empty ones and ones of the same name', async () => {
    const five = [IMAGE, IMAGE, { ...NOTES, data: '' }, NOTES, { ...NOTES, file_name: '../x'.slice(3) }];
    const attachments = await list(await createRun(five));
    expect(attachments.map(({ filename }) => filename)).toEqual([
      'image.png',
      'image (2).png',
      'notes.md',
      'notes (2).md',
      'x',
    ]);
    expect((await follow(200, attachments[2]?.download_url ?? '')).text).toBe('');
  });

  it.each([
    ['six', [NOTES, NOTES, NOTES, NOTES, NOTES, NOTES], '/attachments'],
    ['no base64', [NOTES, { ...NOTES, data: 'aGk' }], '/attachments/1/data'],
    ['a path', [{ ...NOTES, file_name: '../.bashrc' }], '/attachments/0/file_name'],
    ['a control character', [{ ...NOTES, file_name: 'a\r\nb' }], '/attachments/0/file_name'],
    ['no name', [{ ...NOTES, file_name: ' ' }], '/attachments/0/file_name'],
    ['no media type', [{ ...NOTES, mime_type: 'picture' }], '/attachments/0/mime_type'],
    ['nothing', [{ file_name: 'a', mime_type: 'a/b' }], '/attachments/0/data'],
  ])('is rejected with 400 for %s, names the field, and stores nothing', async (_what, attachments, pointer) => {
    const before = objects();
    const answer = await create(400, attachments);
    expect(answer.body).toMatchObject({ error_code: 'invalid_request', errors: [{ pointer }] });
    expect(objects()).toEqual(before);
  });

  it('is rejected with 413 when one is too large, and names it', async () => {
    const before = objects();
    const large = { ...NOTES, data: base64(Buffer.alloc(10 * 1_048_576 + 1)) };
    const one = await create(413, [NOTES, large]);
    expect(one.body).toMatchObject({ error_code: 'payload_too_large', errors: [{ pointer: '/attachments/1/data' }] });
    const half = { ...NOTES, data: base64(Buffer.alloc(7 * 1_048_576 + 1)) };
    const both = await create(413, [half, half]);
    expect(both.body).toMatchObject({ errors: [{ pointer: '/attachments' }] });
    expect(objects()).toEqual(before);
  });

  it('keeps their content when the response to the commit is lost', async () => {
    const headers = { 'Idempotency-Key': `lost-${fixture.team}` };
    const inserts = fixture.api.app.get(RunInserts);
    const insert = inserts.insert.bind(inserts);
    const spy = vi.spyOn(inserts, 'insert').mockImplementation(async (...given) => {
      await insert(...given);
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    });
    try {
      await create(503, [NOTES], headers);
    } finally {
      spy.mockRestore();
    }
    const runId = (await create(200, [NOTES], headers)).body.run_id;
    await fixture.api.advanceClock(3_600_000);
    await fixture.api.app.get(ObjectDisposal).sweep();
    const [attachment] = await list(runId);
    expect((await fetch(attachment?.download_url ?? '')).status).toBe(200);
  });

  it('is created once for one Idempotency-Key, and stores their content once', async () => {
    const headers = { 'Idempotency-Key': `attachments-${fixture.team}` };
    const first = (await create(200, [NOTES], headers)).body.run_id;
    const before = objects();
    expect(before).toContain(first);
    expect((await create(200, [NOTES], headers)).body.run_id).toBe(first);
    await create(422, [IMAGE], headers);
    await fixture.api.advanceClock(3_600_000);
    await fixture.api.app.get(ObjectDisposal).sweep();
    expect(objects()).toEqual(before);
    expect(await list(first)).toHaveLength(1);
  });

  it('returns 400, 403 and 404 for the list like for the run', async () => {
    const runId = await createRun([NOTES]);
    const ask = (status: number, id: string, token = fixture.member.token) =>
      fixture.request(status, `GET /agent/runs/${id}/handoff/attachments`, { token });
    expectProblem(fixture.api, await ask(400, '%20'), 'invalid_request');
    expectProblem(fixture.api, await ask(403, runId, fixture.stranger.token), 'not_authorized');
    for (const id of [UNKNOWN_RUN_ID, 'nonsense']) expectProblem(fixture.api, await ask(404, id), 'resource_not_found');
  });
});

describe('the runner of a run with attachments', () => {
  const fetchAs = (status: number, { assignment }: TestRunner, attachmentId: string, epoch?: number) =>
    fixture.request(
      status,
      `GET /runner/v1/executions/${assignment.execution_id}/attachments/${attachmentId}?lease_epoch=${epoch ?? assignment.lease_epoch}`,
      { token: new ExecutionTokens(fixture.api.settings.secretsKey ?? '').mint(assignment.execution_id) },
    );

  it('lists and downloads them in every execution', async () => {
    const runId = await createRun([NOTES, IMAGE]);
    const listed = await list(runId);
    for (let execution = 1; execution <= 2; execution += 1) {
      const runner = await TestRunner.take(fixture.api, runId);
      expect(runner.assignment.attachments).toEqual([
        { attachment_id: listed[0]?.attachment_id, file_name: 'notes.md', mime_type: 'text/markdown', size_bytes: 16 },
        { attachment_id: listed[1]?.attachment_id, file_name: 'image.png', mime_type: 'image/png', size_bytes: 3 },
      ]);
      const { text, headers } = await fetchAs(200, runner, listed[0]?.attachment_id ?? '');
      expect(text).toBe('# Notes – 😀');
      expect(headers.get('content-length')).toBe('16');
      await runner.finish('handed_back');
    }
  });

  it('is rejected for another run, an unknown attachment, and without the lease', async () => {
    const [mine, other] = [await createRun([NOTES]), await createRun([IMAGE])];
    const [own] = await list(mine);
    const [foreign] = await list(other);
    const runner = await TestRunner.take(fixture.api, mine);
    await fetchAs(404, runner, foreign?.attachment_id ?? '');
    await fetchAs(404, runner, UNKNOWN_RUN_ID);
    await fetchAs(412, runner, own?.attachment_id ?? '', runner.assignment.lease_epoch + 1);
    await runner.finish('handed_back');
    await fetchAs(412, runner, own?.attachment_id ?? '');
  });
});
