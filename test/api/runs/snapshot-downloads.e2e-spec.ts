import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeManifest, SNAPSHOT_VERSION, type SnapshotEntry } from '#execution/runner-protocol';
import { TestRunner, until } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';

const MIB = 1_048_576;
/** So that a response does not fit into the buffers between server and client. */
const FILES = 16;
const AT_ONCE = 4;

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

/** A run with a snapshot of random content. Returns its id. */
async function largeRun(): Promise<string> {
  const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
  const runner = await TestRunner.take(fixture.api, id);
  await runner.startAgent();
  const packId = randomUUID();
  const blocks = Array.from({ length: FILES / 2 }, () => Buffer.concat([Buffer.from([0]), randomBytes(MIB - 1)]));
  await runner.call(204, `PUT snapshots/packs/${packId}`, {}, Buffer.concat(blocks));
  const files = Array.from({ length: FILES }, (_, index): SnapshotEntry => {
    const block = index % blocks.length;
    const content = blocks[block]?.subarray(1) ?? Buffer.alloc(0);
    const hash = createHash('sha256').update(content).digest('hex');
    const extent = [0, block * MIB, MIB, 0, MIB - 1] as const;
    return { type: 'file', path: `work/f${index}`, mode: 0o644, mtime: 1, size: MIB - 1, hash, content: [extent] };
  });
  const entries: SnapshotEntry[] = [{ type: 'directory', path: 'work', mode: 0o700 }, ...files];
  const facts = { entries: entries.length, bytes: FILES * (MIB - 1), problems: [], excluded: [], root: '/srv/1' };
  const manifest = gzipSync(encodeManifest({ version: SNAPSHOT_VERSION, packs: [packId], ...facts }, entries));
  const { body } = await runner.call(200, 'PUT snapshots', { reason: 'turn', stored_bytes: '9' }, manifest);
  await runner.report(['workspace_snapshot', body]);
  return id;
}

/** Its body is not read. */
async function open(url: string, token: string): Promise<IncomingMessage> {
  const request = get(url, { headers: { authorization: `Bearer ${token}` }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}

const download = (runId: string, token: string): Promise<IncomingMessage> =>
  open(`${fixture.api.url}/api/v1/agent/runs/${runId}/archive`, token);

/** The link to the archive of a run that a person gets. */
async function linkOf(person: typeof fixture.viewer, runId: string): Promise<string> {
  const list = await fixture.requestAs(person, 200, `GET /agent/runs/${runId}/handoff/attachments`);
  return /[^"]*\/archives\/[^"]+/.exec(JSON.stringify(list))?.[0] ?? '';
}

/** Opens one more than is permitted, and ends one of them. Resolves to the status of the last one. */
async function waitForPermit(requests: readonly (() => Promise<IncomingMessage>)[]): Promise<number | undefined> {
  const opened = await Promise.all(requests.slice(0, AT_ONCE).map((request) => request()));
  expect(opened.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  let isAnswered = false;
  const next = requests[AT_ONCE]?.().finally(() => (isAnswered = true));
  // A request that is sent later has a response.
  await fixture.requestAs(fixture.viewer, 200, 'GET /me');
  expect(isAnswered).toBe(false);
  opened[0]?.destroy();
  const last = await next;
  for (const response of [...opened, last]) response?.destroy();
  return last?.statusCode;
}

it('a person downloads the files of runs at most four times at once', async () => {
  const runId = await largeRun();
  const { token } = fixture.viewer;
  const open = await Promise.all(Array.from({ length: AT_ONCE }, () => download(runId, token)));
  expect(open.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  let isAnswered = false;
  const next = download(runId, token).finally(() => (isAnswered = true));
  // Another person need not wait.
  const other = await download(runId, fixture.member.token);
  expect([other.statusCode, isAnswered]).toEqual([200, false]);
  open[0]?.destroy();
  const last = await next;
  expect(last.statusCode).toBe(200);
  const refused = await download(runId, token);
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '10']);
  for (const response of [...open, other, last, refused]) response.destroy();
  const isServed = async (): Promise<boolean> => {
    const again = await download(runId, token);
    again.destroy();
    return again.statusCode === 200;
  };
  await until(isServed, 5_000, 'a download');
});

it('the links of a person are read at most four times at once, which does not delay their downloads with a token', async () => {
  const runId = await largeRun();
  const links = [await linkOf(fixture.viewer, runId), await linkOf(fixture.viewer, await largeRun())];
  const withToken = await Promise.all([1, 2].map(() => download(runId, fixture.viewer.token)));
  const requests = Array.from({ length: AT_ONCE + 1 }, (_, index) => () => open(links[index % 2] ?? '', 'none'));
  expect(await waitForPermit(requests)).toBe(200);
  expect(withToken.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
  for (const response of withToken) response.destroy();
});

it('links of one person do not delay those of another one, and cannot be changed to theirs', async () => {
  const runId = await largeRun();
  const [theirs, own] = [await linkOf(fixture.viewer, runId), await linkOf(fixture.member, runId)];
  const opened = await Promise.all(Array.from({ length: AT_ONCE }, () => open(theirs, 'none')));
  const another = await open(own, 'none');
  expect([...opened, another].map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
  const name = new URL(own).searchParams.get('requested_by') ?? '';
  const changed = new URL(theirs);
  expect(changed.searchParams.get('requested_by')).toBe(fixture.viewer.uid);
  changed.searchParams.set('requested_by', name);
  const refused = await open(changed.href, 'none');
  changed.searchParams.delete('requested_by');
  const without = await open(changed.href, 'none');
  expect([refused.statusCode, without.statusCode]).toEqual([403, 403]);
  for (const response of [...opened, another, refused, without]) response.destroy();
});

it('a person reads the conversations of runs at most four times at once', async () => {
  const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
  const runner = await TestRunner.take(fixture.api, id);
  await runner.startAgent();
  await runner.report(['turn_started', { turn_id: 't1', prompt: 'Write much.' }]);
  for (let part = 0; part < 200; part += 1)
    await runner.report(['message_chunk', { message_id: `m${part}`, text: 'x'.repeat(50_000) }]);
  const url = `${fixture.api.url}/api/v1/agent/runs/${id}/conversation`;
  const requests = Array.from({ length: AT_ONCE + 1 }, () => () => open(url, fixture.viewer.token));
  expect(await waitForPermit(requests)).toBe(200);
});
