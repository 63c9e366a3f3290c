import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ObjectDisposal } from '#platform/storage';
import { onDatabase, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  expectProblem,
  lockOfRun,
  requestAnyStatus,
  sendConcurrently,
  UNKNOWN_RUN_ID,
  untilWaiting,
} from '../../support/api-requests.js';

const MIB = 1_048_576;
const FILE_NAME_RULE = 'must be the name of a file, at most 255 bytes, without a path or control characters';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

interface Prepared {
  readonly attachment_id: string;
  readonly upload_url: string;
}

const newRun = async (): Promise<string> =>
  (await fixture.request(200, 'POST /agent/runs', { token: fixture.member.token, body: { prompt: 'Go.' } })).body
    .run_id;
const prepare = (status: number, runId: string, files: unknown, token = fixture.member.token) =>
  fixture.request(status, `POST /agent/runs/${runId}/attachments/prepare`, { token, body: { files } });
const prepared = async (runId: string, ...names: string[]): Promise<Prepared[]> =>
  (
    await prepare(
      200,
      runId,
      names.map((filename) => ({ filename, mime_type: 'text/plain' })),
    )
  ).body.attachments;
const upload = (url: string, content: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
  fetch(url, { method: 'PUT', body: content, headers: { 'content-type': 'text/plain' } });
const problemOf = async (response: Response) => (await response.json()) as { error_code: string; detail: string };
async function uploaded(runId: string, name: string, content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const [file] = await prepared(runId, name);
  expect((await upload(file?.upload_url ?? '', content)).status).toBe(204);
  return file?.attachment_id ?? '';
}
const followUp = (status: number, runId: string, body: object) =>
  fixture.request(status, `POST /agent/runs/${runId}/followups`, { token: fixture.member.token, body });
const choose = (...ids: string[]) => ({ attachments: ids.map((attachment_id) => ({ attachment_id })) });
const files = async (runId: string): Promise<[name: string, content: string][]> => {
  const { body } = await fixture.request(200, `GET /agent/runs/${runId}/handoff/attachments`, {
    token: fixture.member.token,
  });
  return Promise.all(
    (body.attachments as { filename: string; download_url: string }[]).map(
      async ({ filename, download_url: url }) => [filename, await (await fetch(url)).text()] as [string, string],
    ),
  );
};
const commands = async ({ token, assignment }: TestRunner) => {
  const { execution_id: id, lease_epoch: epoch } = assignment;
  const path = `/runner/v1/executions/${id}/commands?lease_epoch=${epoch}&version=0`;
  return (await fixture.request(200, `GET ${path}`, { token })).body;
};

describe('a follow-up with files', () => {
  it('brings them to the session at work and to later executions, and lists them with the run', async () => {
    const runId = await newRun();
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    const ids = [await uploaded(runId, 'a.txt', 'first'), await uploaded(runId, 'b.txt', 'second')];
    const { body } = await followUp(200, runId, {
      message: 'Look.',
      attachments: [{ attachment_id: ids[1] }, { attachment_id: ids[0], file_name: 'other.txt' }],
    });
    const attachments = [
      { attachment_id: ids[1], file_name: 'b.txt', mime_type: 'text/plain', size_bytes: 6 },
      { attachment_id: ids[0], file_name: 'other.txt', mime_type: 'text/plain', size_bytes: 5 },
    ];
    expect((await commands(runner)).prompts).toEqual([
      { followup_id: body.followup_id, message: 'Look.', attachments },
    ]);
    expect(await files(runId)).toEqual([
      ['b.txt', 'second'],
      ['other.txt', 'first'],
    ]);
    await runner.report(
      ['turn_started', { turn_id: 't2', prompt: 'Look.', followup_id: body.followup_id }],
      ['turn_ended', { turn_id: 't2', stop_reason: 'end_turn' }],
    );
    await runner.finish('closed');
    await followUp(200, runId, { message: 'Again.' });
    const later = await TestRunner.take(fixture.api, runId);
    expect(later.assignment.attachments).toEqual(attachments);
  });

  it('needs no message, and is the only way in which a file is sent', async () => {
    const runId = await newRun();
    const id = await uploaded(runId, 'a.txt', 'text');
    expect(await files(runId)).toEqual([]);
    await followUp(200, runId, choose(id));
    expect(await files(runId)).toEqual([['a.txt', 'text']]);
  });

  it('gives files of one name different names, also those of the request that created the run', async () => {
    const data = Buffer.from('created').toString('base64');
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Go.', attachments: [{ file_name: 'a.txt', mime_type: 'text/plain', data }] },
    });
    const runId = body.run_id as string;
    await followUp(200, runId, choose(await uploaded(runId, 'a.txt', '1'), await uploaded(runId, 'A.TXT', '2')));
    await followUp(200, runId, choose(await uploaded(runId, 'a.txt', '3')));
    expect(await files(runId)).toEqual([
      ['a.txt', 'created'],
      ['a (2).txt', '1'],
      ['A (3).TXT', '2'],
      ['a (4).txt', '3'],
    ]);
    const { body: again } = await fixture.request(200, `POST /agent/runs/${runId}/rerun`, {
      token: fixture.member.token,
      body: {},
    });
    expect(await files(again.run_id)).toEqual([['a.txt', 'created']]);
  });

  it('in a conversation is for its newest run', async () => {
    const { id, conversationId } = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      state: 'SUCCEEDED',
    });
    const path = `/agent/conversations/${conversationId}`;
    const { token } = fixture.member;
    const body = { files: [{ filename: 'a.txt', mime_type: 'text/plain' }] };
    const [file] = (await fixture.request(200, `POST ${path}/attachments/prepare`, { token, body })).body.attachments;
    await upload(file.upload_url, 'text');
    const answer = await fixture.request(200, `POST ${path}/followups`, { token, body: choose(file.attachment_id) });
    expect(answer.body).toMatchObject({ run_id: id, outcome: 'handoff_execution' });
    expect(await files(id)).toEqual([['a.txt', 'text']]);
  });

  it('sends each file once, also when twenty are submitted at once', async () => {
    const runId = await newRun();
    const id = await uploaded(runId, 'a.txt', 'text');
    const answers = await sendConcurrently(fixture.api, lockOfRun(runId), () =>
      Array.from({ length: 20 }, () =>
        fetch(`${fixture.api.url}/api/v1/agent/runs/${runId}/followups`, {
          method: 'POST',
          headers: { authorization: `Bearer ${fixture.member.token}`, 'content-type': 'application/json' },
          body: JSON.stringify(choose(id)),
        }).then(({ status }) => status),
      ),
    );
    expect(answers.sort()).toEqual([200, ...Array.from({ length: 19 }, () => 422)]);
  });

  it('is rejected with 422 for a file of another run, one that is not uploaded, and one that is named twice', async () => {
    const runId = await newRun();
    const [waiting] = await prepared(runId, 'a.txt');
    const good = await uploaded(runId, 'b.txt', 'text');
    for (const [ids, index] of [
      [[await uploaded(await newRun(), 'c.txt', 'text')], 0],
      [[good, waiting?.attachment_id ?? ''], 1],
      [[good, good.toUpperCase()], 1],
      [[UNKNOWN_RUN_ID], 0],
    ] as const) {
      const answer = await followUp(422, runId, { message: 'Look.', ...choose(...ids) });
      expectProblem(fixture.api, answer, 'unknown_attachment', [
        {
          pointer: `/attachments/${index}`,
          detail: 'names no file that was prepared for this run, uploaded and not sent yet',
        },
      ]);
    }
    expect(await files(runId)).toEqual([]);
    expect(await fixture.database.query('SELECT 1 FROM run_followups WHERE run_id = $1', [runId])).toEqual([]);
  });

  it.each([
    ['an id that is none', { attachments: [{ attachment_id: 'x' }] }, '/attachments/0/attachment_id', 'must be a UUID'],
    [
      'a name with a path',
      { attachments: [{ attachment_id: UNKNOWN_RUN_ID, file_name: '../x' }] },
      '/attachments/0/file_name',
      FILE_NAME_RULE,
    ],
    [
      'too many files',
      { attachments: Array.from({ length: 26 }, () => ({ attachment_id: UNKNOWN_RUN_ID })) },
      '/attachments',
      'must not exceed 25 entries',
    ],
  ])('is rejected with 400 for %s', async (_case, body, pointer, detail) => {
    const answer = await followUp(400, await newRun(), { message: 'Look.', ...body });
    expectProblem(fixture.api, answer, 'invalid_request', [{ pointer, detail }]);
  });

  it('is rejected with 413 when the run would have more than 100 MiB of files', async () => {
    const runId = await newRun();
    const id = await uploaded(runId, 'a.txt', 'text');
    await fixture.database.query(
      `INSERT INTO run_attachments (id, run_id, position, file_name, mime_type, size_bytes, object_key, created_at)
       VALUES (gen_random_uuid(), $1, 0, 'large', 'text/plain', $2, 'attachments/none', now())`,
      [runId, 100 * MIB - 3],
    );
    const answer = await followUp(413, runId, choose(id));
    expectProblem(fixture.api, answer, 'payload_too_large', [
      { pointer: '/attachments', detail: 'must leave the run with at most 200 files and 104857600 bytes together' },
    ]);
  });
});

describe('an upload link', () => {
  it('accepts the content again until the file is sent, and discards what it replaces', async () => {
    const runId = await newRun();
    const [file] = await prepared(runId, 'a.txt');
    const { upload_url: url = '', attachment_id: id = '' } = file ?? {};
    expect((await upload(url, 'one')).status).toBe(204);
    const keyOf = () => fixture.database.query('SELECT object_key FROM run_attachments WHERE id = $1', [id]);
    const before = await keyOf();
    expect((await upload(url, 'two')).status).toBe(204);
    expect(await fixture.database.query('SELECT name AS object_key FROM discarded_objects')).toContainEqual(before[0]);
    await followUp(200, runId, choose(id));
    expect((await upload(url, 'three')).status).toBe(404);
    expect(await files(runId)).toEqual([['a.txt', 'two']]);
    await fixture.api.advanceClock(3_600_000);
    await fixture.api.app.get(ObjectDisposal).sweep();
    expect(await files(runId)).toEqual([['a.txt', 'two']]);
  });

  it('is good for one file and a limited time, without a token', async () => {
    const runId = await newRun();
    const [one, two] = await prepared(runId, 'a.txt', 'b.txt');
    const [url, other] = [new URL(one?.upload_url ?? ''), new URL(two?.upload_url ?? '')];
    url.search = other.search;
    for (const address of [url.href, (one?.upload_url ?? '').replace(/\?.*/, ''), `${one?.upload_url ?? ''}&x=1`]) {
      const response = await upload(address, 'text');
      expect([response.status, (await problemOf(response)).error_code]).toEqual([403, 'not_authorized']);
    }
    await fixture.api.advanceClock(fixture.api.settings.signedUrlTtl + 1000);
    const late = await upload(one?.upload_url ?? '', 'text');
    expect([late.status, (await problemOf(late)).detail]).toEqual([
      403,
      'The upload link has expired. Request a new one.',
    ]);
  });

  it('rejects more than 10 MiB with 413, and keeps nothing', async () => {
    const runId = await newRun();
    const [file] = await prepared(runId, 'a.txt');
    const response = await upload(file?.upload_url ?? '', new Uint8Array(10 * MIB + 1));
    expect([response.status, (await problemOf(response)).error_code]).toEqual([413, 'payload_too_large']);
    await followUp(422, runId, choose(file?.attachment_id ?? ''));
    expect((await upload(file?.upload_url ?? '', new Uint8Array(10 * MIB))).status).toBe(204);
    await followUp(200, runId, choose(file?.attachment_id ?? ''));
  });
});

describe('prepared files', () => {
  it('are at most fifty for a run: newer ones replace the oldest', async () => {
    const runId = await newRun();
    const first = await uploaded(runId, 'first.txt', 'text');
    const names = Array.from({ length: 25 }, (_, index) => `${index}.txt`);
    const [second] = await prepared(runId, ...names);
    await prepared(runId, ...names.slice(1));
    expect((await upload(second?.upload_url ?? '', 'text')).status).toBe(204);
    await prepared(runId, 'last.txt');
    await followUp(422, runId, choose(first));
    await followUp(200, runId, choose(second?.attachment_id ?? ''));
  });

  it('never discard one that a follow-up sends at the same time', async () => {
    const runId = await newRun();
    const oldest = await uploaded(runId, 'oldest.txt', 'text');
    await prepared(runId, ...Array.from({ length: 25 }, (_, index) => `${index}.txt`));
    await prepared(runId, ...Array.from({ length: 24 }, (_, index) => `${index}.txt`));
    const { token } = fixture.member;
    const path = `POST /agent/runs/${runId}`;
    const body = { files: [{ filename: 'new.txt', mime_type: 'text/plain' }] };
    const { api } = fixture;
    const answers = await onDatabase(api.database.url, async (locking) => {
      await locking.query(`BEGIN; SELECT 1 FROM headrace.run_attachments WHERE id = '${oldest}' FOR UPDATE`);
      const followup = requestAnyStatus(api, `${path}/followups`, { token, body: choose(oldest) });
      await untilWaiting(api, 1);
      const preparation = await requestAnyStatus(api, `${path}/attachments/prepare`, { token, body });
      await locking.query('COMMIT');
      return [await followup, preparation];
    });
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await files(runId)).toEqual([['oldest.txt', 'text']]);
  });

  it.each([
    ['none', [], '/files', 'must have at least 1 entries'],
    ['a name with a path', [{ filename: 'a/b', mime_type: 'text/plain' }], '/files/0/filename', FILE_NAME_RULE],
    [
      'no media type',
      [{ filename: 'a', mime_type: 'text' }],
      '/files/0/mime_type',
      'must be a media type such as image/png',
    ],
    [
      'too many',
      Array.from({ length: 26 }, () => ({ filename: 'a', mime_type: 'a/b' })),
      '/files',
      'must not exceed 25 entries',
    ],
  ])('are rejected with 400: %s', async (_case, body, pointer, detail) => {
    const answer = await prepare(400, await newRun(), body);
    expectProblem(fixture.api, answer, 'invalid_request', [{ pointer, detail }]);
  });

  it('are rejected with 400, 413 and 415 as other requests, of runs and of conversations', async () => {
    const { token } = fixture.member;
    const { id, conversationId } = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      state: 'SUCCEEDED',
    });
    for (const path of [`/agent/runs/${id}`, `/agent/conversations/${conversationId}`]) {
      const line = `POST ${path}/attachments/prepare`;
      await fixture.request(400, line, { token, body: { files: [] } });
      const filename = 'a'.repeat(3 * MIB);
      await fixture.request(413, line, { token, body: { files: [{ filename, mime_type: 'a/b' }] } });
      await fixture.request(415, line, { token, body: 'text', headers: { 'content-type': 'text/plain' } });
      await fixture.request(422, `POST ${path}/followups`, { token, body: choose(UNKNOWN_RUN_ID) });
    }
  });

  it('are not possible for runs of others', async () => {
    const files = [{ filename: 'a', mime_type: 'a/b' }];
    expectProblem(fixture.api, await prepare(404, UNKNOWN_RUN_ID, files), 'resource_not_found');
    await prepare(403, await newRun(), files, fixture.stranger.token);
  });
});
