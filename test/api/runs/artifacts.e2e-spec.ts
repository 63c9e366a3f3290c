import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ObjectStore } from '#platform/storage';
import { ArtifactBuilder, TestRunner, type TestPrincipal } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, requestAnyStatus } from '../../support/api-requests.js';

const MAX_ARTIFACT_BYTES = 2_000_000;
const MAX_RUN_BYTES = 5_000_000;
const PLAN = '# Two steps\n\n1. one\n2. two 😀\n';
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

let fixture: ApiFixture;
let artifacts: ArtifactBuilder;

beforeAll(async () => {
  fixture = await ApiFixture.start({
    settings: { maxArtifactBytes: MAX_ARTIFACT_BYTES, maxRunArtifactBytes: MAX_RUN_BYTES },
  });
  artifacts = new ArtifactBuilder(fixture.database, { objects: fixture.api.app.get(ObjectStore) });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

interface Listed {
  artifact_type: string;
  created_at: string;
  data: Record<string, unknown>;
}

async function runningRun(): Promise<{ id: string; runner: TestRunner }> {
  const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
  const runner = await TestRunner.take(fixture.api, id);
  await runner.startAgent();
  return { id, runner };
}

const fileQuery = { source_key: 'file:1', artifact_type: 'FILE', mime_type: 'text/plain', filepath: 'out/a b.txt' };
const reference = {
  source_key: 'ref:1',
  artifact_type: 'EXTERNAL_REFERENCE',
  reference_type: 'ticket',
  url: 'https://t.example/1',
};
const put = (runner: TestRunner, status: number, query: Record<string, string>, body: Buffer | string = 'text') =>
  runner.call(status, 'PUT artifacts', query, Buffer.from(body));
/** For uploads of which several results are right. */
async function statusOfPut(runner: TestRunner, query: Record<string, string>, body: Buffer | string): Promise<number> {
  const { execution_id: id, lease_epoch: epoch } = runner.assignment;
  const parameters = new URLSearchParams({ ...query, lease_epoch: String(epoch) }).toString();
  const path = `/api/v1/runner/v1/executions/${id}/artifacts?${parameters}`;
  const headers = { authorization: `Bearer ${runner.token}` };
  return (await fetch(fixture.api.url + path, { method: 'PUT', headers, body })).status;
}
const post = (runner: TestRunner, status: number, body: object) =>
  runner.call(status, 'POST artifacts', {}, { lease_epoch: runner.assignment.lease_epoch, ...body });
const get = (uid: string, token = fixture.member.token) =>
  fixture.request(200, `GET /agent/artifacts/${uid}`, { token }).then(({ body }) => body);
const listedBy = (id: string): Promise<Listed[]> =>
  fixture.api
    .request(200, `GET /agent/runs/${id}`, { token: fixture.member.token })
    .then(({ body }) => (body.artifacts ?? []) as Listed[]);
const atOrigin = (status: number, url: string) =>
  fixture.api.atOrigin(status, `GET ${url.slice(fixture.api.url.length)}`);

describe('the total size of the artifacts of a run', () => {
  it('is limited by MAX_ARTIFACT_BYTES_PER_RUN, and an upload beyond it is rejected with 413', async () => {
    const { id, runner } = await runningRun();
    const file = (n: number) => ({ ...fileQuery, source_key: `file:${n}` });
    await put(runner, 200, file(1), Buffer.alloc(2_000_000));
    await put(runner, 200, file(2), Buffer.alloc(2_000_000));
    const refused = await put(runner, 413, file(3), Buffer.alloc(1_000_001));
    expect(refused.body).toMatchObject({
      error_code: 'payload_too_large',
      detail: 'All artifacts of a run together may have at most 5000000 bytes (MAX_ARTIFACT_BYTES_PER_RUN).',
    });
    await put(runner, 200, file(4), Buffer.alloc(1_000_000));
    expect((await put(runner, 413, file(5), 'x')).body.detail).toContain('All artifacts of a run together');
    await post(runner, 200, reference);
    expect(await listedBy(id)).toHaveLength(4);
    await runner.finish();
  });

  it('stays within the limit under concurrent uploads', async () => {
    const { id, runner } = await runningRun();
    const files = Array.from({ length: 4 }, (_, n) => ({ ...fileQuery, source_key: `file:${n}` }));
    const statuses = await Promise.all(files.map((query) => statusOfPut(runner, query, Buffer.alloc(1_900_000))));
    expect(statuses.sort()).toEqual([200, 200, 413, 413]);
    expect(await listedBy(id)).toHaveLength(2);
    await runner.finish();
  });
});

describe('an artifact that a runner uploads', () => {
  it('is returned with the run, in lists of runs, by its uid and for download, by type', async () => {
    const { id, runner } = await runningRun();
    expect(
      (await fixture.request(200, `GET /agent/runs/${id}`, { token: fixture.member.token })).body,
    ).not.toHaveProperty('artifacts');
    const said = { title: 'Report', description: 'All of it' };
    const file = (await put(runner, 200, { ...fileQuery, ...said }, 'text')).body.artifact_uid as string;
    const shot = (
      await put(
        runner,
        200,
        {
          source_key: 's',
          artifact_type: 'SCREENSHOT',
          mime_type: 'image/png',
          filepath: 'x.png',
          description: 'Shot',
        },
        PNG,
      )
    ).body.artifact_uid as string;
    const plan = (
      await put(
        runner,
        200,
        { source_key: 'p', artifact_type: 'PLAN', mime_type: 'text/markdown', filepath: 'PLAN.md', title: 'Two steps' },
        PLAN,
      )
    ).body.artifact_uid as string;
    await post(runner, 200, {
      source_key: 'pr',
      artifact_type: 'PULL_REQUEST',
      url: 'https://forge.example/pr/7/',
      branch: 'fix',
    });
    await post(runner, 200, { ...reference, url: 'HTTPS://T.example:443/1/#c', title: 'T-1', metadata: { a: [1] } });

    const listed = await listedBy(id);
    expect(listed.map(({ artifact_type, data }) => [artifact_type, data])).toEqual([
      [
        'FILE',
        {
          artifact_uid: file,
          filepath: 'out/a b.txt',
          filename: 'a b.txt',
          mime_type: 'text/plain',
          ...said,
          size_bytes: 4,
        },
      ],
      ['SCREENSHOT', { artifact_uid: shot, mime_type: 'image/png', description: 'Shot' }],
      ['PLAN', { document_uid: plan, artifact_uid: plan, notebook_uid: plan, title: 'Two steps' }],
      ['PULL_REQUEST', { url: 'https://forge.example/pr/7/', branch: 'fix', status: 'unknown' }],
      [
        'EXTERNAL_REFERENCE',
        { reference_type: 'ticket', url: 'https://t.example/1', title: 'T-1', metadata: { a: [1] } },
      ],
    ]);
    for (const { created_at: at } of listed) expect(new Date(at).toISOString()).toBe(at);
    const { body: list } = await fixture.request(200, 'GET /agent/runs?limit=100', { token: fixture.viewer.token });
    expect(list.runs.find((run: { run_id: string }) => run.run_id === id).artifacts).toEqual(listed);

    expect(await get(file)).toEqual({
      artifact_uid: file,
      artifact_type: 'FILE',
      created_at: listed[0]?.created_at,
      data: {
        ...listed[0]?.data,
        download_url: expect.stringContaining(`${fixture.api.url}/objects/artifacts/${id}/`),
        expires_at: expect.any(String),
        content_type: 'text/plain',
      },
      source_links: {
        run_url: `${fixture.api.url}/runs/${id}`,
        pull_request_urls: ['https://forge.example/pr/7/'],
      },
    });
    expect((await get(shot)).source_links).toEqual((await get(file)).source_links);
    expect(await get(plan)).not.toHaveProperty('source_links');
    expect((await get(shot)).data).toMatchObject({ filename: 'x.png', filepath: 'x.png', size_bytes: PNG.length });
    expect((await get(plan)).data).toEqual({ ...listed[2]?.data, content: PLAN, content_type: 'text/markdown' });
  });

  it('links to the run at the top of the chain, and to the pull requests of all runs below that', async () => {
    const { id: root } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
    const childId = await fixture.createRun({ parent_run_id: root });
    const otherId = await fixture.createRun({ parent_run_id: childId });
    const { uid } = await artifacts.build(childId, { type: 'FILE' });
    expect((await get(uid)).source_links).toEqual({ run_url: `${fixture.api.url}/runs/${root}` });
    await artifacts.build(otherId, { type: 'PULL_REQUEST', url: 'https://forge.example/pr/2' });
    await artifacts.build(root, { type: 'PULL_REQUEST', url: 'https://forge.example/pr/1' });
    await artifacts.build(childId, { type: 'PULL_REQUEST', url: 'https://forge.example/pr/2' });
    await artifacts.build(await fixture.createRun(), { type: 'PULL_REQUEST', url: 'https://forge.example/pr/3' });
    expect((await get(uid)).source_links).toEqual({
      run_url: `${fixture.api.url}/runs/${root}`,
      pull_request_urls: ['https://forge.example/pr/2', 'https://forge.example/pr/1'],
    });
  });

  it('of a pull request has the status that the agent has reported', async () => {
    const { id, runner } = await runningRun();
    const report = { source_key: 'pr', artifact_type: 'PULL_REQUEST', url: 'https://f.example/pr/9', branch: 'b' };
    const { artifact_uid: uid } = (await post(runner, 200, { ...report, status: 'merged' })).body;
    expect((await listedBy(id))[0]?.data).toMatchObject({ status: 'merged' });
    expect((await get(uid)).data).toEqual({ url: 'https://f.example/pr/9', branch: 'b', status: 'merged' });
  });

  it('replaces the earlier one under the same uid when a run reports the same address again', async () => {
    const { id, runner } = await runningRun();
    const report = { artifact_type: 'PULL_REQUEST', url: 'https://f.example/pr/10', branch: 'b' };
    const sent = await Promise.all(
      ['open', 'draft', undefined].map((status, index) =>
        post(runner, 200, { ...report, status, source_key: `${index}` }),
      ),
    );
    const { body: last } = await post(runner, 200, { ...report, status: 'merged', source_key: 'last' });
    expect(new Set([...sent, { body: last }].map(({ body }) => body.artifact_uid)).size).toBe(1);
    // What is not reported again stays.
    await post(runner, 200, { ...report, branch: 'c', source_key: 'moved' });
    await post(runner, 200, { ...reference, url: report.url });
    await post(runner, 200, { ...reference, url: report.url, reference_type: 'other', source_key: 'other' });
    await post(runner, 200, { ...reference, url: `${report.url}#part`, title: 'Part', source_key: 'part' });
    expect((await listedBy(id)).map(({ artifact_type: type, data }) => [type, data])).toEqual([
      ['PULL_REQUEST', { url: report.url, branch: 'c', status: 'merged' }],
      ['EXTERNAL_REFERENCE', { url: report.url, reference_type: 'ticket', title: 'Part' }],
      ['EXTERNAL_REFERENCE', { url: report.url, reference_type: 'other' }],
    ]);
    const other = await runningRun();
    await post(other.runner, 200, { ...report, source_key: 'last' });
    expect(await listedBy(other.id)).toHaveLength(1);
  });

  it('is downloaded as an attachment by a link that needs no token, until the link expires', async () => {
    const { runner } = await runningRun();
    const html = '<script>alert(1)</script>';
    const { artifact_uid: uid } = (await put(runner, 200, { ...fileQuery, mime_type: 'text/html' }, html)).body;
    const before = Date.now();
    const { data } = await get(uid);
    // The service's clock is at most as far ahead as tests before this one have moved it.
    expect(Date.parse(data.expires_at)).toBeGreaterThanOrEqual(before + fixture.api.settings.signedUrlTtl);
    const { headers } = await fixture.request(302, `GET /agent/artifacts/${uid}/download`, {
      token: fixture.viewer.token,
    });
    for (const url of [data.download_url as string, headers.get('location') ?? '']) {
      const answer = await atOrigin(200, url);
      expect(answer.text).toBe(html);
      expect(answer.headers.get('content-type')).toBe('text/html');
      expect(answer.headers.get('content-disposition')).toContain('attachment; filename="a b.txt"');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    }
    await fixture.api.advanceClock(fixture.api.settings.signedUrlTtl + 1000);
    await atOrigin(403, data.download_url);
  });

  it('is downloaded as Markdown when it is a plan', async () => {
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
    const { uid } = await artifacts.build(id, { type: 'PLAN', content: PLAN });
    const { headers } = await fixture.request(302, `GET /agent/artifacts/${uid}/download`, {
      token: fixture.member.token,
    });
    const answer = await atOrigin(200, headers.get('location') ?? '');
    expect([answer.text, answer.headers.get('content-type')]).toEqual([PLAN, 'text/markdown']);
    expect(answer.headers.get('content-disposition')).toContain(`${uid}.md`);
  });

  it('is stored once when it is uploaded several times at once', async () => {
    const { id, runner } = await runningRun();
    const uids = await Promise.all(
      Array.from({ length: 6 }, async () => (await put(runner, 200, fileQuery)).body.artifact_uid as string),
    );
    const references = await Promise.all(
      Array.from({ length: 6 }, async () => (await post(runner, 200, reference)).body.artifact_uid as string),
    );
    expect([new Set(uids).size, new Set(references).size]).toEqual([1, 1]);
    expect(await listedBy(id)).toHaveLength(2);
    const again = await put(runner, 200, fileQuery, 'other text under the same key');
    expect(again.body.artifact_uid).toBe(uids[0]);
    const { headers } = await fixture.request(302, `GET /agent/artifacts/${uids[0]}/download`, {
      token: fixture.member.token,
    });
    expect((await atOrigin(200, headers.get('location') ?? '')).text).toBe('text');
  });

  it('replaces the earlier one under the same uid when it is the diff of a repository, and an empty one removes it', async () => {
    const { id, runner } = await runningRun();
    const upload = async (key: string, filepath: string, content: string): Promise<string> => {
      const query = { source_key: key, artifact_type: 'DIFF', mime_type: 'text/x-diff', filepath };
      return (await put(runner, 200, query, content)).body.artifact_uid as string;
    };
    const contentOf = async (uid: string): Promise<string> => {
      const { data, artifact_type: type } = await get(uid);
      expect(type).toBe('DIFF');
      return (await atOrigin(200, data.download_url as string)).text;
    };
    await upload('diff:0', 'app.diff', '');
    expect(await listedBy(id)).toEqual([]);
    const app = await upload('diff:1', 'app.diff', '+one\n');
    const library = await upload('diff:2', 'library.diff', '+library\n');
    const { data: early } = await get(app);
    expect(await upload('diff:3', 'app.diff', '+two and more\n')).toBe(app);
    expect(await upload('diff:3', 'app.diff', 'a repeated key')).toBe(app);
    expect(await upload('diff:2', 'library.diff', '+library\n')).toBe(library);
    expect((await listedBy(id)).map(({ data }) => [data.artifact_uid, data.filepath, data.size_bytes]).sort()).toEqual(
      [
        [app, 'app.diff', 14],
        [library, 'library.diff', 9],
      ].sort(),
    );
    expect(await contentOf(app)).toBe('+two and more\n');
    expect(await contentOf(library)).toBe('+library\n');
    await atOrigin(404, early.download_url as string);
    expect(await upload('diff:1', 'app.diff', '+one\n')).toBe(app);
    expect(await contentOf(app)).toBe('+one\n');
    await upload('diff:0', 'app.diff', '');
    expect((await listedBy(id)).map(({ data }) => data.filepath)).toEqual(['library.diff']);
    await fixture.request(404, `GET /agent/artifacts/${app}`, { token: fixture.member.token });
    const filtered = await fixture.request(200, 'GET /agent/runs?artifact_type=DIFF', { token: fixture.member.token });
    expect(filtered.body.runs.map((run: { run_id: string }) => run.run_id)).toContain(id);
    await runner.finish();
    await put(runner, 412, {
      source_key: 'diff:4',
      artifact_type: 'DIFF',
      mime_type: 'text/x-diff',
      filepath: 'a.diff',
    });
  });

  it('is stored once when diffs of the same repository are uploaded at once, and the others are to be repeated', async () => {
    const { id, runner } = await runningRun();
    const upload = (n: number): Promise<number> => {
      const query = { artifact_type: 'DIFF', mime_type: 'text/x-diff', filepath: 'app.diff' };
      return statusOfPut(runner, { ...query, source_key: `diff:${n}` }, `+${n}\n`);
    };
    for (const first of [0, 10]) {
      const statuses = await Promise.all(Array.from({ length: 6 }, (_, n) => upload(first + n)));
      expect(statuses).toContain(200);
      expect([...new Set(statuses)].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    }
    const [listed, ...others] = await listedBy(id);
    expect(others).toEqual([]);
    const { data } = await get(String(listed?.data.artifact_uid));
    expect((await atOrigin(200, data.download_url as string)).text).toMatch(/^\+1\d\n$/);
    await runner.finish();
  });

  it('is rejected without the lease', async () => {
    const { id, runner } = await runningRun();
    const stale = { lease_epoch: String(runner.assignment.lease_epoch + 1) };
    for (const answer of [
      await put(runner, 412, { ...fileQuery, ...stale }),
      await post(runner, 412, { ...reference, lease_epoch: runner.assignment.lease_epoch + 1 }),
    ])
      expectProblem(fixture.api, answer, 'lease_lost');
    await runner.finish('failed', { error_code: 'agent_process_failed', message: 'gone' });
    await put(runner, 412, fileQuery);
    await post(runner, 412, reference);
    expect(await listedBy(id)).toEqual([]);
  });

  it('is rejected when it exceeds MAX_ARTIFACT_BYTES', async () => {
    const { id, runner } = await runningRun();
    await put(runner, 200, fileQuery, Buffer.alloc(MAX_ARTIFACT_BYTES, 1));
    const tooLarge = await put(runner, 413, { ...fileQuery, source_key: 'x' }, Buffer.alloc(MAX_ARTIFACT_BYTES + 1, 1));
    expectProblem(fixture.api, tooLarge, 'payload_too_large');
    const plan = { source_key: 'p', artifact_type: 'PLAN', mime_type: 'text/markdown', filepath: 'p.md' };
    await put(runner, 413, plan, Buffer.alloc(1_048_577, 0x61));
    await put(runner, 200, plan, Buffer.alloc(1_048_576, 0x61));
    expect((await listedBy(id)).map(({ artifact_type: type }) => type)).toEqual(['FILE', 'PLAN']);
  });

  it.each<[string, Record<string, string>]>([
    ['/source_key', { source_key: 'a/b' }],
    ['/artifact_type', { artifact_type: 'PULL_REQUEST' }],
    ['/mime_type', { mime_type: 'text' }],
    ['/mime_type', { artifact_type: 'SCREENSHOT' }],
    ['/filepath', { filepath: '' }],
    ['/title', { title: 'x'.repeat(513) }],
    ['/url', { url: 'javascript:alert(1)' }],
  ])('with content is rejected for its %s: %j', async (pointer, change) => {
    const { runner } = await sharedRun();
    const { body } = await put(runner, 400, { ...fileQuery, ...change });
    expect(body.errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });

  it.each<[string, object]>([
    ['/artifact_type', { artifact_type: 'FILE' }],
    ['/url', { url: 'x' }],
    ['/url', { url: 'ftp://t.example/1' }],
    ['/url', { url: 'https://user:secret@t.example/1' }],
    ['/url', { url: `https://t.example/${'x'.repeat(2048)}` }],
    ['/url', { artifact_type: 'PULL_REQUEST', branch: 'b', url: 'javascript:alert(1)' }],
    ['/branch', { artifact_type: 'PULL_REQUEST' }],
    ['/status', { artifact_type: 'PULL_REQUEST', branch: 'b', status: 'OPEN' }],
    ['/status', { status: 'open' }],
    ['/reference_type', { reference_type: 'x'.repeat(257) }],
    ['/reference_type', { reference_type: undefined }],
    ['/metadata', { metadata: [] }],
    ['/metadata', { metadata: { text: 'x'.repeat(2048) } }],
  ])('as a reference is rejected for its %s: %j', async (pointer, change) => {
    const { runner } = await sharedRun();
    const { body } = await post(runner, 400, { ...reference, ...change });
    expect(body.errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });

  it('is stored with replacements for characters that the database rejects', async () => {
    const { id, runner } = await runningRun();
    const lone = '\\ud800';
    const body = `{"lease_epoch":${runner.assignment.lease_epoch},"source_key":"r","artifact_type":"EXTERNAL_REFERENCE","reference_type":"t\\u0000","url":"https://t.example/nul","metadata":{"a${lone}":"b\\u0000"}}`;
    await fixture.request(200, `POST /runner/v1/executions/${runner.assignment.execution_id}/artifacts`, {
      token: runner.token,
      body,
      contentType: 'application/json',
    });
    expect((await listedBy(id))[0]?.data).toMatchObject({
      reference_type: 't\ufffd',
      metadata: { 'a\ufffd': 'b\ufffd' },
    });
  });

  it('is rejected as the 1,001st of a run; the run returns all and a list the newest 20', async () => {
    const { id, runner } = await runningRun();
    await fixture.database.query(
      `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, run_created_at, created_at)
       SELECT lpad(n::text, 22, '0'), r.id, r.slot_key, n::text, 'PULL_REQUEST', jsonb_build_object('url', 'https://x', 'branch', n::text),
              r.created_at, r.created_at + n * interval '1 millisecond' FROM runs r, generate_series(1, 999) n WHERE r.id = $1`,
      [id],
    );
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map((key) => {
        const line = `POST /runner/v1/executions/${runner.assignment.execution_id}/artifacts`;
        const body = {
          lease_epoch: runner.assignment.lease_epoch,
          ...reference,
          url: `https://t.example/${key}`,
          source_key: key,
        };
        return requestAnyStatus(fixture.api, line, { token: runner.token, body });
      }),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    expect(outcomes.find(({ status }) => status === 400)?.body.detail).toContain('1000 artifacts');
    const refusedFile = await put(runner, 400, fileQuery);
    expect(refusedFile.body.errors[0].pointer).toBe('/artifact_type');
    // What is there already may be reported again.
    await post(runner, 200, { artifact_type: 'PULL_REQUEST', url: 'https://x', branch: '5', source_key: '5' });
    const all = await listedBy(id);
    expect(all).toHaveLength(1000);
    expect(all[0]?.data).toMatchObject({ branch: '1' });
    const { body: list } = await fixture.request(200, 'GET /agent/runs?limit=500', { token: fixture.member.token });
    const shown = list.runs.find((run: { run_id: string }) => run.run_id === id).artifacts as Listed[];
    expect(shown).toEqual(all.slice(-20));
  });
});

let shared: { runner: TestRunner } | null = null;
/** For requests that change nothing. */
async function sharedRun(): Promise<{ runner: TestRunner }> {
  shared ??= await runningRun();
  return shared;
}

describe('reading an artifact', () => {
  const lines = (uid: string): string[] => [`GET /agent/artifacts/${uid}`, `GET /agent/artifacts/${uid}/download`];
  const refusals = async (status: number, uid: string, by: TestPrincipal) =>
    Promise.all(lines(uid).map((line) => fixture.request(status, line, { token: by.token })));

  it('returns 403 to principals that may not read the run', async () => {
    const { id: teams } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
    const { id: personal } = await fixture.runs.build({ by: fixture.member });
    const [team, own] = [
      await artifacts.build(teams, { type: 'FILE' }),
      await artifacts.build(personal, { type: 'FILE' }),
    ];
    const robot = await fixture.api.identities.serviceAccount(fixture.team);
    await get(team.uid, fixture.viewer.token);
    await get(team.uid, robot.token);
    await get(own.uid);
    const refused = [
      ...(await refusals(403, team.uid, fixture.stranger)),
      ...(await refusals(403, own.uid, fixture.viewer)),
      ...(await refusals(403, own.uid, robot)),
    ];
    for (const answer of refused) {
      expectProblem(fixture.api, answer, 'not_authorized');
      expect(answer.text).not.toContain('objects/');
    }
  });

  it('returns 404 for an unknown uid, and 400 for a blank one', async () => {
    for (const uid of ['0123456789abcdefghijKL', 'no-id', '..%2Fx']) {
      for (const answer of await refusals(404, uid, fixture.member))
        expectProblem(fixture.api, answer, 'resource_not_found');
    }
    for (const answer of await refusals(400, '%20', fixture.member))
      expect(answer.body.error_code).toBe('invalid_request');
  });

  it('returns 404 for the download of an artifact without content', async () => {
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
    for (const type of ['PULL_REQUEST', 'EXTERNAL_REFERENCE'] as const) {
      const { uid } = await artifacts.build(id, { type });
      const answer = await fixture.request(404, `GET /agent/artifacts/${uid}/download`, {
        token: fixture.member.token,
      });
      expect(answer.body.detail).toBe(`An artifact of type ${type} has no content to download.`);
      expect((await get(uid)).data).toHaveProperty('url');
    }
    const { uid } = await artifacts.build(id, { type: 'PLAN' });
    await fixture.api.app.get(ObjectStore).deletePrefix(`artifacts/${id}`);
    const answer = await fixture.request(404, `GET /agent/artifacts/${uid}`, { token: fixture.member.token });
    expectProblem(fixture.api, answer, 'resource_not_found');
  });
});
