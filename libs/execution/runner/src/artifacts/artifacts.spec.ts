import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaseLostError, NoResponseError, RejectedError } from '../protocol/control-plane.js';
import { Workspace } from '../workspace/workspace.js';
import { ARTIFACT_LIST, headingOf, parseArtifactList, typeOfDropped } from './artifact-list.js';
import { ArtifactSync } from './artifact-sync.js';
import { NOT_FOUND } from './own-file.js';

let base: string;
let workspace: Workspace;
let taken: Record<string, unknown>[];
/** What the control plane does with the next reports, in order; then it takes everything. */
let answers: (() => Promise<string | null>)[];
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const never = new AbortController().signal;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'headrace-artifacts-'));
  workspace = Workspace.create(join(base, 'w'));
  taken = [];
  answers = [];
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(base, { recursive: true, force: true });
});

const next = (): Promise<string | null> => (answers.shift() ?? (() => Promise.resolve(null)))();

const plane = {
  async putArtifact(artifact: object, content: AsyncIterable<Uint8Array>): Promise<string | null> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    const answer = await next();
    if (answer === null) taken.push({ ...artifact, content: Buffer.concat(chunks).toString() });
    return answer;
  },
  async reportReference(reference: object): Promise<string | null> {
    const answer = await next();
    if (answer === null) taken.push({ ...reference });
    return answer;
  },
};
const syncOf = (maxBytes = 1000): ArtifactSync =>
  new ArtifactSync({ environment: {}, plane, workspace, log, maxBytes });
const put = (name: string, text: string): void => writeFileSync(join(workspace.artifacts, name), text);
const list = (...lines: unknown[]): void =>
  put(ARTIFACT_LIST, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));

/** Looking at one file fails in a way that nobody has reckoned with. */
async function failsToLookAt(path: string): Promise<void> {
  const { ino } = statSync(path);
  const file = await open(path);
  const handles = Object.getPrototypeOf(file) as FileHandle;
  await file.close();
  const stat = Reflect.get(handles, 'stat') as (this: FileHandle) => Promise<Stats>;
  vi.spyOn(handles, 'stat').mockImplementation(async function (this: FileHandle) {
    const stats = await stat.call(this);
    if (stats.ino === ino) throw new RangeError('no space');
    return stats;
  });
}

describe('the artifacts directory', () => {
  it('uploads its files, images and plans, and the entries of the list', async () => {
    put('notes.txt', 'text');
    put('shot.PNG', 'png');
    put('PLAN.md', '# The plan #\n\n- one\n');
    put('empty', '');
    mkdirSync(join(workspace.artifacts, 'sub'));
    put('sub/other.plan.md', 'no heading');
    writeFileSync(join(workspace.work, 'report.json'), '{}');
    list(
      { artifact_type: 'FILE', path: 'report.json', title: 'Report', description: 'All of it' },
      { artifact_type: 'PULL_REQUEST', url: 'https://forge.example/pr/1', branch: 'fix', status: 'draft', extra: 1 },
      { artifact_type: 'EXTERNAL_REFERENCE', url: 'https://t.example/1', reference_type: 'ticket', metadata: { a: 1 } },
    );
    expect(await syncOf().collect(never)).toEqual([]);
    expect(taken.map(({ source_key: _key, ...metadata }) => metadata)).toEqual([
      {
        artifact_type: 'FILE',
        mime_type: 'application/json',
        filepath: 'report.json',
        title: 'Report',
        description: 'All of it',
        content: '{}',
      },
      {
        artifact_type: 'PLAN',
        mime_type: 'text/markdown',
        filepath: 'PLAN.md',
        title: 'The plan',
        content: '# The plan #\n\n- one\n',
      },
      { artifact_type: 'FILE', mime_type: 'application/octet-stream', filepath: 'empty', content: '' },
      { artifact_type: 'FILE', mime_type: 'text/plain', filepath: 'notes.txt', content: 'text' },
      { artifact_type: 'SCREENSHOT', mime_type: 'image/png', filepath: 'shot.PNG', content: 'png' },
      { artifact_type: 'PLAN', mime_type: 'text/markdown', filepath: 'sub/other.plan.md', content: 'no heading' },
      { artifact_type: 'PULL_REQUEST', url: 'https://forge.example/pr/1', branch: 'fix', status: 'draft' },
      {
        artifact_type: 'EXTERNAL_REFERENCE',
        url: 'https://t.example/1',
        reference_type: 'ticket',
        metadata: { a: 1 },
      },
    ]);
    expect(new Set(taken.map(({ source_key: key }) => key)).size).toBe(taken.length);
  });

  it('uploads an unchanged file once, and a changed one again', async () => {
    const sync = syncOf();
    put('a.txt', 'one');
    put('b.txt', 'same');
    await sync.collect(never);
    await sync.collect(never);
    put('a.txt', 'three');
    await sync.collect(never);
    expect(taken.map(({ content }) => content)).toEqual(['one', 'same', 'three']);
    // Another runner of the same run gives the same content the same key.
    await syncOf().collect(never);
    expect(taken[4]?.['source_key']).toBe(taken[1]?.['source_key']);
  });

  it('ignores links, pipes, files outside and files that are too large', async () => {
    writeFileSync(join(base, 'secret'), 'secret');
    symlinkSync(join(base, 'secret'), join(workspace.artifacts, 'link'));
    symlinkSync(base, join(workspace.artifacts, 'way-out'));
    execFileSync('mkfifo', [join(workspace.artifacts, 'pipe')]);
    put('large', '');
    truncateSync(join(workspace.artifacts, 'large'), 1001);
    list(
      { artifact_type: 'FILE', path: '../../secret' },
      { artifact_type: 'FILE', path: join(workspace.artifacts, 'way-out', 'secret') },
      { artifact_type: 'FILE', path: 'missing' },
      { artifact_type: 'FILE', path: '.' },
    );
    const sync = syncOf();
    const problems = await sync.collect(never);
    expect(taken).toEqual([]);
    expect(Object.fromEntries(problems.map(({ artifact, problem }) => [artifact, problem]))).toEqual({
      [join(base, 'secret')]: NOT_FOUND,
      'way-out/secret': NOT_FOUND,
      missing: NOT_FOUND,
      work: 'is not a regular file',
      large: 'has 1001 bytes; the limit is 1000',
      link: 'is a symbolic link',
      pipe: 'is not a regular file',
      'way-out': 'is a symbolic link',
    });
    // Reported once.
    expect(await sync.collect(never)).toEqual([]);
  });

  it('may have been replaced by a link: not even names get out', async () => {
    renameSync(workspace.artifacts, `${workspace.artifacts}.old`);
    symlinkSync(base, workspace.artifacts);
    writeFileSync(join(base, 'secret'), 'secret');
    expect(await syncOf().collect(never)).toEqual([]);
    expect(taken).toEqual([]);
  });

  it('is retried without a response, but not after a rejection, and ends with the lease', async () => {
    const sync = syncOf();
    put('a.txt', 'a');
    answers = [() => Promise.reject(new NoResponseError('503')), () => Promise.reject(new NoResponseError('503'))];
    expect(await sync.collect(never)).toEqual([]);
    expect(taken).toHaveLength(1);

    list({ artifact_type: 'PULL_REQUEST', url: 'ftp://me:secret@nowhere', branch: 'b' });
    answers = [() => Promise.resolve('`url` must be an absolute http or https URL.')];
    expect(await sync.collect(never)).toEqual([
      { artifact: 'ftp://nowhere', problem: '`url` must be an absolute http or https URL.' },
    ]);
    put('b.txt', 'b');
    answers = [() => Promise.reject(new RejectedError('418'))];
    expect(await sync.collect(never)).toEqual([{ artifact: 'b.txt', problem: 'was rejected by the control plane' }]);
    expect(await sync.collect(never)).toEqual([]);
    expect(taken).toHaveLength(1);

    put('c.txt', 'c');
    answers = Array.from({ length: 4 }, () => () => Promise.reject(new NoResponseError('503')));
    expect(await sync.collect(never)).toMatchObject([{ artifact: 'some artifacts' }]);
    await sync.collect(never);
    expect(taken.map(({ filepath }) => filepath)).toEqual(['a.txt', 'c.txt']);
    put('d.txt', 'd');
    answers = [() => Promise.reject(new LeaseLostError('412'))];
    await expect(sync.collect(never)).rejects.toThrow(LeaseLostError);
  });

  it('continues after an entry that cannot be read', async () => {
    put('a.txt', 'a');
    const deep = `${'{"a":'.repeat(6000)}1${'}'.repeat(6000)}`;
    list(
      { artifact_type: 'FILE', path: 'unforeseen' },
      `{"artifact_type":"EXTERNAL_REFERENCE","url":"https://t.example/1","reference_type":"t","metadata":${deep}}`,
      { artifact_type: 'PULL_REQUEST', url: 'https://forge.example/pr/1', branch: 'fix' },
    );
    writeFileSync(join(workspace.work, 'unforeseen'), 'text');
    await failsToLookAt(join(workspace.work, 'unforeseen'));
    expect(await syncOf().collect(never)).toEqual([
      { artifact: `${ARTIFACT_LIST}, line 2`, problem: 'nests deeper than 64 levels' },
      { artifact: 'unforeseen', problem: 'could not be read' },
    ]);
    expect(taken.map(({ artifact_type }) => artifact_type)).toEqual(['FILE', 'PULL_REQUEST']);
  });

  it('is not read after the end of the execution', async () => {
    put('a.txt', 'a');
    expect(await syncOf().collect(AbortSignal.abort())).toEqual([]);
    expect(taken).toEqual([]);
  });
});

describe('the list', () => {
  it.each([
    ['{', 'is not JSON'],
    ['[]', 'is not a JSON object'],
    ['{}', /has no `artifact_type`/],
    ['{"artifact_type":"FILE"}', 'has no `path`'],
    ['{"artifact_type":"FILE","path":"a","title":1}', 'has a `title` that is not text'],
    ['{"artifact_type":"PULL_REQUEST","url":"https://x"}', 'needs `url` and `branch`'],
    [
      '{"artifact_type":"PULL_REQUEST","url":"https://x","branch":"b","status":"won"}',
      'has a `status` that is none of open, draft, merged, closed, unknown',
    ],
    ['{"artifact_type":"EXTERNAL_REFERENCE","url":"https://x"}', 'needs `url` and `reference_type`'],
  ])('%s costs that line only', (line, problem) => {
    const { files, problems } = parseArtifactList(`${line}\n\n{"artifact_type":"FILE","path":"a"}\n`);
    expect(files).toEqual([{ artifact_type: 'FILE', path: 'a' }]);
    expect(problems).toEqual([
      {
        artifact: 'artifacts.jsonl, line 1',
        problem: typeof problem === 'string' ? problem : expect.stringMatching(problem),
      },
    ]);
  });
});

it.each([
  ['PLAN.md', 'PLAN'],
  ['a/plan.md', 'PLAN'],
  ['big.plan.md', 'PLAN'],
  ['.plan.md', 'FILE'],
  ['myPLAN.md', 'FILE'],
  ['a.jpeg', 'SCREENSHOT'],
  ['a.svg', 'FILE'],
  ['png', 'FILE'],
])('%s alone is a %s', (path, type) => {
  expect(typeOfDropped(path)).toBe(type);
});

it('uses the first heading of a plan as its title', () => {
  expect(headingOf('text\n## A b ##\n# C')).toBe('A b');
  expect(headingOf('#no\n#')).toBeUndefined();
});
