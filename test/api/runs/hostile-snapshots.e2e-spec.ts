import { randomUUID } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeManifest, type SnapshotEntry } from '#execution/runner-protocol';
import { ObjectStore } from '#platform/storage';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';

/*
 * A runner executes what its user wants, so that the control plane trusts nothing of a snapshot. What a runner does with the same
 * entries is in libs/execution/runner/src/snapshot/restore-workspace.spec.ts.
 */

let fixture: ApiFixture;
let runId: string;
let runner: TestRunner;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  runId = await fixture.createRun();
  runner = await TestRunner.take(fixture.api, runId);
  await runner.startAgent();
});
afterAll(() => fixture.close());

const work: SnapshotEntry = { type: 'directory', path: 'work', mode: 0o700 };
const file = (path: string, stored = 4): SnapshotEntry => ({
  type: 'file',
  path,
  mode: 0o644,
  mtime: 1,
  size: 3,
  hash: 'a'.repeat(64),
  content: [[0, 0, stored, 0, 3]],
});
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const link = (path: string, target: string): SnapshotEntry => ({ type: 'link', path, target });

function manifestOf(packs: readonly string[], entries: readonly object[]): Buffer {
  const bytes = entries.reduce((sum, entry) => sum + ((entry as { size?: number }).size ?? 0), 0);
  const header = { version: 1, packs, entries: entries.length, bytes, problems: [], excluded: [], root: '/srv/1' };
  return encodeManifest(header, entries as SnapshotEntry[]);
}

/** Stores a snapshot with one pack, and reports it. */
async function store(entries: readonly object[], pack: Buffer = Buffer.from('\0abc')): Promise<string> {
  const packId = randomUUID();
  await runner.call(204, `PUT snapshots/packs/${packId}`, {}, pack);
  const { body } = await put(200, gzipSync(manifestOf([packId], entries)));
  await runner.report(['workspace_snapshot', body]);
  return body.snapshot_id;
}
const put = (status: number, manifest: Buffer) =>
  runner.call(status, 'PUT snapshots', { reason: 'turn', stored_bytes: '9' }, manifest);
const get = (status: number, path: string) =>
  fixture.request(status, `GET /agent/runs/${runId}/${path}`, { token: fixture.member.token });
const snapshotsOf = async (): Promise<unknown[]> =>
  (await get(200, 'timeline')).body.events.filter(
    ({ event_type: type }: { event_type: string }) => type === 'workspace_snapshot',
  );

describe('a snapshot of a runner that is not to be trusted', () => {
  it.each<readonly [what: string, entries: readonly object[], detail: string]>([
    ['a path that leads upwards', [work, file('work/../../etc/passwd')], 'has an empty segment, "." or ".."'],
    ['a directory that leads upwards', [work, { ...work, path: 'work/..' }], 'has an empty segment, "." or ".."'],
    ['an absolute path', [work, file('/etc/passwd')], 'is absolute'],
    ['an absolute link as a directory', [{ ...work, path: '/etc' }], 'is absolute'],
    [
      'a file below an absolute link',
      [work, link('work/out', '/etc'), file('work/out/passwd')],
      'is not in a directory',
    ],
    ['a link in place of the working directory', [link('work', '/etc'), file('work/passwd')], 'is not in a directory'],
    ['a character device', [work, { type: 'character-device', path: 'work/null', mode: 0o666 }], 'Line 3'],
    ['a file with the bits of a device', [work, { ...file('work/null'), mode: 0o20666 }], 'Line 3'],
    ['a pipe', [work, { type: 'pipe', path: 'work/pipe', mode: 0o666 }], 'Line 3'],
    ['a set-user-ID program', [work, { ...file('work/su'), mode: 0o4755 }], 'Line 3'],
    ['two files of the same name', [work, file('work/a'), file('work/a')], 'occurs twice'],
  ])('is rejected with %s', async (_what, entries, detail) => {
    const packId = randomUUID();
    await runner.call(204, `PUT snapshots/packs/${packId}`, {}, Buffer.from('\0abc'));
    const before = await snapshotsOf();
    const { body } = await put(400, gzipSync(manifestOf([packId], entries)));
    expect(body).toMatchObject({ error_code: 'invalid_request', detail: expect.stringContaining(detail) });
    expect(await snapshotsOf()).toEqual(before);
  });

  it('is rejected when its list expands to more than its limit, or has more lines than it says', async () => {
    const part = gzipSync(Buffer.alloc(30 * 1_048_576));
    const bomb = Buffer.concat(Array.from({ length: 10 }, () => part));
    expect(bomb.length).toBeLessThan(1_048_576);
    expect((await put(400, bomb)).body).toMatchObject({ detail: expect.stringContaining('cannot be decompressed') });
    const lines = Buffer.concat([manifestOf([], [work]), Buffer.alloc(50 * 1_048_576, '\n')]);
    expect((await put(400, gzipSync(lines))).body).toMatchObject({
      detail: expect.stringContaining('number of entries'),
    });
  });

  it('may contain absolute links, which are not followed', async () => {
    await store([work, link('work/out', '/etc'), link('work/up', '../../../etc')]);
    for (const path of ['out/passwd', 'up/passwd', 'out', 'up'])
      expect((await get(404, `files?path=${path}`)).body).toMatchObject({ error_code: 'resource_not_found' });
    await get(404, 'archive?path=out');
  });

  it('may contain names that differ in case only, which stay different', async () => {
    const id = await store([work, file('work/README'), link('work/readme', 'README'), file('work/Readme')]);
    const { entries } = (await get(200, `files?at=${id}`)).body;
    expect(entries.map(({ name }: { name: string }) => name).sort()).toEqual(['README', 'Readme', 'readme']);
    expect((await get(200, `files?at=${id}&path=Readme`)).text).toBe('abc');
  });

  it('has a pack that expands to more than a block may have: the file is damaged, and the others are there', async () => {
    const bomb = Buffer.concat([Buffer.from([2]), brotliCompressSync(Buffer.alloc(50 * 1_048_576), FAST)]);
    const entries = [work, file('work/bomb', bomb.length), { ...file('work/empty'), size: 0, content: [] }];
    const id = await store(entries, bomb);
    expect((await get(404, `files?at=${id}&path=bomb`)).body).toMatchObject({
      error_code: 'resource_not_found',
      detail: expect.stringContaining('damaged'),
    });
    expect((await get(200, `files?at=${id}&path=empty`)).text).toBe('');
    const { body } = await get(200, `changes?to=${id}`);
    expect(body).toMatchObject({ truncated: true, files: [{ path: 'bomb', change: 'added' }, { path: 'empty' }] });
    expect(body.files[0]).not.toHaveProperty('diff');
  });

  it('counts as deleted when its list was changed in the object store', async () => {
    const id = await store([work, file('work/a')]);
    const [{ key } = { key: '' }] = await fixture.database.query<{ key: string }>(
      'SELECT p.object_key AS key FROM run_snapshots s JOIN snapshot_packs p ON p.id = s.manifest_id WHERE s.id = $1',
      [id],
    );
    await fixture.api.app.get(ObjectStore, { strict: false }).put(key, Buffer.from('changed'), { contentType: 'x/y' });
    for (const [path, point] of [
      ['files', 'at'],
      ['archive', 'at'],
      ['changes', 'to'],
    ])
      expect((await get(400, `${path}?${point}=${id}`)).body).toMatchObject({ errors: [{ pointer: `/${point}` }] });
    await get(404, 'files');
  });
});
