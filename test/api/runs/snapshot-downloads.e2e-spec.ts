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
async function download(runId: string, token: string): Promise<IncomingMessage> {
  const url = `${fixture.api.url}/api/v1/agent/runs/${runId}/archive`;
  const request = get(url, { headers: { authorization: `Bearer ${token}` }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
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
  await until(async () => (await download(runId, token)).statusCode === 200, 5_000, 'a download');
});
