import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import {
  changesBetween,
  type FileChange,
  SnapshotFiles,
  type SnapshotReader,
  SnapshotsStore,
  type StoredSnapshot,
} from '#execution/executions';
import { SnapshotDamagedError, type SnapshotEntry, type SnapshotFile } from '#execution/runner-protocol';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { isUuid, type RejectionOf } from '#platform/kernel';
import { SignedLinks } from '#platform/storage';
import { unifiedDiff } from '../domain/unified-diff.js';
import { RunsService } from './runs.service.js';
import { archiveOf } from './snapshot-archive.js';

/** A sequence number in the log of the run, the id of a snapshot, or the id of a step of the conversation. */
export type SnapshotPoint = number | string;

/** Of a file that is shown as a diff; larger ones are listed without. */
const MAX_DIFF_FILE_BYTES = 262_144;
/** Of all diffs of a response. */
const MAX_DIFF_BYTES = 1_048_576;
export const MAX_LISTED_CHANGES = 1_000;
/** Time to read and compare all files of a response, and to find a short diff of one, during which nothing else is served, in milliseconds. */
const DIFFS_TIMEOUT_MS = 2_000;
const DIFF_TIMEOUT_MS = 50;

export interface ListedChange extends FileChange {
  readonly isBinary: boolean;
  /** Absent for binary, large and damaged files, and beyond the limit of the response. */
  readonly diff?: string;
}

export interface RunChanges {
  /** Null: the empty workspace. */
  readonly from: StoredSnapshot | null;
  readonly to: StoredSnapshot;
  readonly changes: readonly ListedChange[];
  /** Not all changes are listed, or not all diffs. */
  readonly isTruncated: boolean;
}

export type RunChangesResult =
  | ({ readonly kind: 'found' } & RunChanges)
  | { readonly kind: 'no_snapshot'; readonly parameter: 'from' | 'to' | 'at' }
  | RejectionOf<'not_found' | 'forbidden'>;

export type RunFileResult =
  | { readonly kind: 'file'; readonly name: string; readonly sizeBytes: number; readonly content: Readable }
  | { readonly kind: 'directory'; readonly snapshot: StoredSnapshot; readonly entries: readonly SnapshotEntry[] }
  | { readonly kind: 'no_such_path' }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'no_snapshot'; readonly parameter: 'at' }
  | RejectionOf<'not_found' | 'forbidden'>;

export type ArchiveOfRunResult =
  | { readonly kind: 'archive'; readonly content: Readable }
  | { readonly kind: 'no_such_path' }
  | { readonly kind: 'no_snapshot'; readonly parameter: 'at' };
export type RunArchiveResult = ArchiveOfRunResult | RejectionOf<'not_found' | 'forbidden'>;

export const ARCHIVE_TYPE = 'application/gzip';

/** The path of the archive of a snapshot, which its signed link names; no object has a key with this beginning. */
export const archiveKey = (runId: string, snapshotId: string): string => `archives/${runId}/${snapshotId}`;

/** The path in the workspace of one that is relative to the working directory. */
const workPath = (path: string): string =>
  ['work', ...path.split('/').filter((segment) => segment !== '' && segment !== '.')].join('/');

/** The snapshots of a run for people: what changed, and files. */
@Injectable()
export class RunSnapshots {
  constructor(
    private readonly runs: RunsService,
    private readonly snapshots: SnapshotsStore,
    private readonly files: SnapshotFiles,
    private readonly links: SignedLinks,
    private readonly settings: Settings,
  ) {}

  /** The last snapshot at or before a point; null: there is none. */
  async find(runId: string, at: SnapshotPoint | undefined): Promise<StoredSnapshot | null> {
    if (at === undefined || typeof at === 'number') return this.snapshots.at(runId, at);
    if (!isUuid(at)) return null;
    const named = await this.snapshots.find(runId, at);
    if (named !== null) return named;
    const seq = await this.snapshots.seqOfTurn(runId, at);
    return seq === null ? null : this.snapshots.at(runId, seq);
  }

  /** Default: from the start of the run to its last snapshot. `path`: below this one only. */
  async changes(
    caller: Caller,
    runId: string,
    { from, to, path }: { readonly from?: SnapshotPoint; readonly to?: SnapshotPoint; readonly path?: string },
  ): Promise<RunChangesResult> {
    const found = await this.runs.find(caller, runId);
    if (found.kind !== 'found') return found;
    const last = await this.find(runId, to);
    const after = last && (await this.files.open(last));
    if (!last || !after) return { kind: 'no_snapshot', parameter: 'to' };
    const first = from === undefined ? await this.start(runId) : await this.find(runId, from);
    const before = first && (await this.files.open(first));
    if (from !== undefined && !before) return { kind: 'no_snapshot', parameter: 'from' };
    const all = changesBetween(before?.manifest ?? null, after.manifest).filter((change) => isBelow(change, path));
    const changes = await this.withDiffs(all.slice(0, MAX_LISTED_CHANGES), before, after);
    const isTruncated = all.length > MAX_LISTED_CHANGES || changes.some((change) => isCut(change));
    return { kind: 'found', from: before ? first : null, to: last, changes, isTruncated };
  }

  async file(caller: Caller, runId: string, path: string, at: SnapshotPoint | undefined): Promise<RunFileResult> {
    const opened = await this.open(caller, runId, at);
    if (opened.kind !== 'opened') return opened;
    const { snapshot, reader } = opened;
    const wanted = workPath(path);
    const entry = reader.manifest.entries.find((candidate) => candidate.path === wanted);
    if (entry?.type === 'file') {
      const content = await unlessDamaged(() => startOf(reader.read(entry)));
      if (content instanceof SnapshotDamagedError) return { kind: 'damaged', message: content.message };
      const name = wanted.slice(wanted.lastIndexOf('/') + 1);
      return { kind: 'file', name, sizeBytes: entry.size, content: Readable.from(content) };
    }
    if (entry?.type !== 'directory') return { kind: 'no_such_path' };
    const isChild = (child: SnapshotEntry): boolean =>
      child.path.startsWith(`${wanted}/`) && !child.path.includes('/', wanted.length + 1);
    return { kind: 'directory', snapshot, entries: reader.manifest.entries.filter(isChild) };
  }

  /** A directory with everything below it, as a gzipped tar archive. */
  async archive(caller: Caller, runId: string, path: string, at: SnapshotPoint | undefined): Promise<RunArchiveResult> {
    const found = await this.runs.find(caller, runId);
    return found.kind === 'found' ? this.archiveOf(runId, at, path) : found;
  }

  /** As {@link archive}; the caller has checked access. */
  async archiveOf(runId: string, at: SnapshotPoint | undefined, path = ''): Promise<ArchiveOfRunResult> {
    const opened = await this.openAt(runId, at);
    if (opened.kind !== 'opened') return opened;
    const { snapshot, reader } = opened;
    const directory = workPath(path);
    const { entries } = reader.manifest;
    if (!entries.some((entry) => entry.path === directory && entry.type === 'directory'))
      return { kind: 'no_such_path' };
    return {
      kind: 'archive',
      content: archiveOf(entries, { directory, takenAt: snapshot.createdAt.getTime() }, reader),
    };
  }

  /** The archive of the last snapshot; the link is valid without a token. Null: there is no snapshot. One round trip. */
  async lastArchive(
    { principal }: Caller,
    runId: string,
  ): Promise<{ readonly snapshotId: string; readonly url: string } | null> {
    const last = await this.find(runId, undefined);
    if (last === null) return null;
    const { publicUrl, signedUrlTtl } = this.settings;
    const query = this.links.query({ key: archiveKey(runId, last.id), requestedBy: principal.uid }, signedUrlTtl);
    return { snapshotId: last.id, url: `${publicUrl}/${archiveKey(runId, last.id)}?${query.toString()}` };
  }

  private async open(caller: Caller, runId: string, at: SnapshotPoint | undefined) {
    const found = await this.runs.find(caller, runId);
    return found.kind === 'found' ? this.openAt(runId, at) : found;
  }

  private async openAt(runId: string, at: SnapshotPoint | undefined) {
    const snapshot = await this.find(runId, at);
    const reader = snapshot && (await this.files.open(snapshot));
    if (!snapshot || !reader) return { kind: 'no_snapshot', parameter: 'at' } as const;
    return { kind: 'opened', snapshot, reader } as const;
  }

  /** Before the first turn: the prepared workspace, or the one with which a fork began. Null: an empty one. */
  private async start(runId: string): Promise<StoredSnapshot | null> {
    const first = await this.snapshots.first(runId);
    return first !== null && (first.reason === 'start' || first.reason === 'fork') ? first : null;
  }

  private async withDiffs(
    changes: readonly FileChange[],
    before: SnapshotReader | null,
    after: SnapshotReader,
  ): Promise<ListedChange[]> {
    let left = MAX_DIFF_BYTES;
    const end = performance.now() + DIFFS_TIMEOUT_MS;
    const listed: ListedChange[] = [];
    for (const change of changes) {
      const leftMs = end - performance.now();
      if (left <= 0 || leftMs <= 0) {
        listed.push({ ...change, isBinary: false });
        continue;
      }
      const texts = await Promise.all([textOf(before, change.before), textOf(after, change.after)]);
      const isBinary = texts.includes('binary');
      const [old, current] = texts;
      if (typeof old === 'string' || typeof current === 'string') {
        listed.push({ ...change, isBinary });
        continue;
      }
      const diff = diffOf(change, old?.text ?? '', current?.text ?? '', Math.min(DIFF_TIMEOUT_MS, leftMs));
      left -= diff.length;
      listed.push({ ...change, isBinary, ...(left < 0 ? {} : { diff }) });
      await setImmediate();
    }
    return listed;
  }
}

const isCut = ({ isBinary, diff }: ListedChange): boolean => !isBinary && diff === undefined;

function isBelow(change: FileChange, path: string | undefined): boolean {
  if (path === undefined) return true;
  const prefix = workPath(path);
  return [change.before, change.after].some(
    (entry) => entry && (entry.path === prefix || entry.path.startsWith(`${prefix}/`)),
  );
}

type Text = { readonly text: string } | 'binary' | 'large' | 'damaged' | null;

async function textOf(reader: SnapshotReader | null, entry: FileChange['before']): Promise<Text> {
  if (entry === undefined || reader === null) return null;
  if (entry.type === 'link') return { text: `${entry.target}\n` };
  const text = await unlessDamaged(() => textOfFile(reader, entry));
  return text instanceof SnapshotDamagedError ? 'damaged' : text;
}

async function textOfFile(reader: SnapshotReader, entry: SnapshotFile): Promise<Text> {
  if (entry.size > MAX_DIFF_FILE_BYTES) return (await isBinaryFile(reader, entry)) ? 'binary' : 'large';
  const bytes = await reader.readWhole(entry);
  return bytes.includes(0) ? 'binary' : { text: bytes.toString('utf8') };
}

async function unlessDamaged<T>(read: () => Promise<T>): Promise<T | SnapshotDamagedError> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SnapshotDamagedError) return error;
    throw error;
  }
}

/** Resolves when the first block was read: afterwards a response has begun, and only its connection can show an error. */
async function startOf(blocks: AsyncGenerator<Buffer>): Promise<AsyncGenerator<Buffer>> {
  const first = await blocks.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* blocks;
  })();
}

/** As git decides: a NUL byte near the beginning. */
async function isBinaryFile(reader: SnapshotReader, file: SnapshotFile): Promise<boolean> {
  for await (const block of reader.read(file)) return block.subarray(0, 8000).includes(0);
  return false;
}

function diffOf({ before, after }: FileChange, old: string, current: string, timeoutMs: number): string {
  const [from, to] = [before, after].map((entry) => entry?.path.slice('work/'.length));
  return unifiedDiff({ from, to, old, current }, timeoutMs);
}
