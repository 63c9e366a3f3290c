import type { Readable } from 'node:stream';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, ProblemError, rejectionProblem, sendStream } from '#platform/http';
import type { SnapshotEntry } from '#execution/runner-protocol';
import { ARCHIVE_TYPE, type ListedChange, RunSnapshots, type SnapshotPoint } from '../application/run-snapshots.js';
import { SnapshotComparisons, SnapshotDownloads } from '../application/snapshot-limits.js';
import { noSnapshot, RUN } from './problems.js';
import {
  type ChangedFile,
  ListRunChangesResponse,
  RunChangesParameters,
  RunDirectoryResponse,
  RunFileParameters,
} from './dto/run-snapshots.dto.js';

const RUN_ID = pathId('uuid');

@ApiTags('Runs')
@Controller('agent/runs')
export class RunSnapshotsController {
  constructor(
    private readonly snapshots: RunSnapshots,
    private readonly downloads: SnapshotDownloads,
    private readonly comparisons: SnapshotComparisons,
  ) {}

  @Get(':runId/changes')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'listRunChanges',
    summary: 'List changed files of a run',
    errors: [400, 403, 404],
    description:
      'Files of the working directory that differ between two snapshots, with unified diffs. By default between the start of the run and its last snapshot. At most 1,000 files are listed. Files over 256 KiB have no diff, and all diffs together have at most 1 MiB.',
    success: { status: 200, description: 'The changed files, by path.', type: ListRunChangesResponse },
  })
  changes(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Query() parameters: RunChangesParameters,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ListRunChangesResponse> {
    return this.comparisons.run(caller.principal.uid, response, () => this.changesOf(caller, runId, parameters));
  }

  private async changesOf(
    caller: Caller,
    runId: string,
    { from, to, path }: RunChangesParameters,
  ): Promise<ListRunChangesResponse> {
    const result = await this.snapshots.changes(caller, runId, { from: pointOf(from), to: pointOf(to), path });
    if (result.kind === 'no_snapshot') throw noSnapshot(result.parameter, result.parameter === 'to' ? to : from);
    if (result.kind !== 'found') throw rejectionProblem(result, RUN);
    return {
      from: result.from && { snapshot_id: result.from.id, sequence: result.from.seq },
      to: { snapshot_id: result.to.id, sequence: result.to.seq },
      files: result.changes.map(toChangedFile),
      truncated: result.isTruncated,
    };
  }

  @Get(':runId/files')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'getRunFile',
    summary: 'Get a file of a run',
    errors: [400, 403, 404],
    description:
      'A file of the working directory, as it is in a snapshot, or the entries of a directory as JSON. Files are sent as downloads.',
    success: {
      status: 200,
      description: 'The content of the file (`application/octet-stream`), or the entries of the directory.',
      type: RunDirectoryResponse,
    },
  })
  file(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Query() parameters: RunFileParameters,
    @Res() response: Response,
  ): Promise<void> {
    return this.downloads.run(caller.principal.uid, response, () => this.sendFile(caller, runId, parameters, response));
  }

  private async sendFile(
    caller: Caller,
    runId: string,
    { path = '', at }: RunFileParameters,
    response: Response,
  ): Promise<void> {
    const result = await this.snapshots.file(caller, runId, path, pointOf(at));
    switch (result.kind) {
      case 'file':
        response.setHeader('Content-Type', 'application/octet-stream');
        response.setHeader('Content-Length', result.sizeBytes);
        response.attachment(result.name);
        response.setHeader('Content-Type', 'application/octet-stream');
        return sendStream(result.content, response);
      case 'directory':
        response.json({
          snapshot: { snapshot_id: result.snapshot.id, sequence: result.snapshot.seq },
          entries: result.entries.map(toEntry),
        } satisfies RunDirectoryResponse);
        return;
      case 'no_such_path':
        throw new ProblemError('resource_not_found', '`path`: the snapshot has no file or directory with this path.');
      case 'damaged':
        throw new ProblemError('resource_not_found', `\`path\`: ${result.message}`);
      case 'no_snapshot':
        throw noSnapshot('at', at);
      default:
        throw rejectionProblem(result, RUN);
    }
  }

  @Get(':runId/archive')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'downloadRunArchive',
    summary: 'Download the files of a run',
    errors: [400, 403, 404],
    description:
      'The working directory, or a directory in it, as it is in a snapshot: a tar archive, compressed with gzip, with permissions, times and symbolic links.',
    success: {
      status: 200,
      description: 'The archive.',
      schema: { type: 'string', format: 'binary' },
      contentType: ARCHIVE_TYPE,
    },
  })
  archive(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Query() parameters: RunFileParameters,
    @Res() response: Response,
  ): Promise<void> {
    return this.downloads.run(caller.principal.uid, response, () =>
      this.sendArchive(caller, runId, parameters, response),
    );
  }

  private async sendArchive(
    caller: Caller,
    runId: string,
    { path = '', at }: RunFileParameters,
    response: Response,
  ): Promise<void> {
    const result = await this.snapshots.archive(caller, runId, path, pointOf(at));
    switch (result.kind) {
      case 'archive':
        return sendArchive(runId, result.content, response);
      case 'no_such_path':
        throw new ProblemError('resource_not_found', '`path`: the snapshot has no directory with this path.');
      case 'no_snapshot':
        throw noSnapshot('at', at);
      default:
        throw rejectionProblem(result, RUN);
    }
  }
}

export function sendArchive(runId: string, content: Readable, response: Response): Promise<void> {
  response.attachment(`run-${runId}.tar.gz`);
  response.setHeader('Content-Type', ARCHIVE_TYPE);
  return sendStream(content, response);
}

/** A sequence number is written in digits; anything else is an id. */
const pointOf = (text: string | undefined): SnapshotPoint | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : text;

const shownPath = ({ path }: SnapshotEntry): string => path.slice('work/'.length);
const octal = ({ mode }: { readonly mode: number }): string => `100${mode.toString(8).padStart(3, '0')}`;
const modeOf = (entry: ListedChange['before']): string | undefined =>
  entry === undefined ? undefined : entry.type === 'link' ? '120000' : octal(entry);

function toChangedFile({ change, before, after, isBinary, diff }: ListedChange): ChangedFile {
  const entry = after ?? before;
  const [oldMode, newMode] = [modeOf(before), modeOf(after)];
  const lines = diff === undefined ? null : countLines(diff);
  return {
    path: entry === undefined ? '' : shownPath(entry),
    change,
    ...(change === 'renamed' && before ? { old_path: shownPath(before) } : {}),
    ...(oldMode === undefined ? {} : { old_mode: oldMode }),
    ...(newMode === undefined ? {} : { new_mode: newMode }),
    ...(before?.type === 'file' ? { old_size_bytes: before.size } : {}),
    ...(after?.type === 'file' ? { new_size_bytes: after.size } : {}),
    is_binary: isBinary,
    ...(lines === null ? {} : { additions: lines.added, deletions: lines.removed, diff }),
  };
}

function countLines(diff: string): { readonly added: number; readonly removed: number } {
  const lines = diff.split('\n').slice(4);
  return {
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
  };
}

function toEntry(entry: SnapshotEntry): RunDirectoryResponse['entries'][number] {
  const name = entry.path.slice(entry.path.lastIndexOf('/') + 1);
  if (entry.type === 'directory') return { name, type: 'directory' };
  if (entry.type === 'link') return { name, type: 'link', target: entry.target };
  return { name, type: 'file', size_bytes: entry.size, mode: octal(entry) };
}
