import { Controller, Get, Param, Put, Query, Req, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { ConversationSummaryAnswer, WorkspaceSnapshot } from '#execution/runner-protocol';
import { isLargeBody, pathId, ProblemError, RunnerProtocol, StreamedBody } from '#platform/http';
import { limited } from '#platform/storage';
import { Snapshots } from '../application/snapshots.js';
import { leaseLost } from './lease-lost.js';
import { ExecutionTokenGuard, LeaseParameters, SnapshotParameters } from './runner-request.js';
import { RunnerTransfers } from './runner-transfers.js';

const PART = 'A part of a snapshot';

/** Part of the runner protocol: snapshots of the workspace, and what an agent gets in place of its session. See docs/runner-protocol.md. */
@ApiExcludeController()
@Controller('runner/v1/executions/:executionId')
@UseGuards(ExecutionTokenGuard)
export class RunnerSnapshotsController {
  constructor(
    private readonly snapshots: Snapshots,
    private readonly transfers: RunnerTransfers,
  ) {}

  @Put('snapshots/packs/:packId')
  @StreamedBody()
  @RunnerProtocol()
  async storePack(
    @Param('executionId') executionId: string,
    @Param('packId', pathId('uuid')) packId: string,
    @Query() query: LeaseParameters,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const storing = this.snapshots.storePack(executionId, query.lease_epoch, packId, request);
    if ((await limited(PART, storing)) === 'lease_lost') throw leaseLost();
    response.status(204).end();
  }

  @Put('snapshots')
  @StreamedBody()
  @RunnerProtocol()
  async storeManifest(
    @Param('executionId') executionId: string,
    @Query() query: SnapshotParameters,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WorkspaceSnapshot> {
    const {
      lease_epoch: leaseEpoch,
      reason,
      stored_bytes: storedBytes,
      pack_id: packId,
      pack_bytes: packBytes,
    } = query;
    const pack = packId === undefined ? null : { id: packId, bytes: packBytes ?? 0 };
    const store = () =>
      limited(PART, this.snapshots.storeManifest(executionId, leaseEpoch, request, { reason, storedBytes, pack }));
    const result = await (isLargeBody(request) ? this.transfers.withSnapshot(executionId, response, store) : store());
    if (result.kind === 'lease_lost') throw leaseLost();
    if (result.kind === 'busy')
      throw new ProblemError('resource_unavailable', 'Too many snapshots are being stored.', { retryAfterSeconds: 5 });
    if (result.kind === 'invalid') throw new ProblemError('invalid_request', result.message);
    return result.snapshot;
  }

  @Get('snapshots/packs/:packId')
  @RunnerProtocol()
  async readPack(
    @Param('executionId') executionId: string,
    @Param('packId', pathId('uuid')) packId: string,
    @Query() query: LeaseParameters,
    @Res() response: Response,
  ): Promise<void> {
    await this.transfers.withSnapshot(executionId, response, async () =>
      send(await this.snapshots.openPack(executionId, query.lease_epoch, packId), response),
    );
  }

  @Get('snapshots/:snapshotId')
  @RunnerProtocol()
  async readManifest(
    @Param('executionId') executionId: string,
    @Param('snapshotId', pathId('uuid')) snapshotId: string,
    @Query() query: LeaseParameters,
    @Res() response: Response,
  ): Promise<void> {
    await this.transfers.withSnapshot(executionId, response, async () =>
      send(await this.snapshots.openManifest(executionId, query.lease_epoch, snapshotId), response),
    );
  }

  @Get('conversation-summary')
  @RunnerProtocol()
  async readSummary(
    @Param('executionId') executionId: string,
    @Query() query: LeaseParameters,
  ): Promise<ConversationSummaryAnswer> {
    const summary = await this.snapshots.summary(executionId, query.lease_epoch);
    if (summary === 'lease_lost') throw leaseLost();
    return summary;
  }
}

function send(found: Buffer | 'none' | 'lease_lost', response: Response): void {
  if (found === 'lease_lost') throw leaseLost();
  if (found === 'none') throw new ProblemError('resource_not_found', 'The part of the snapshot is not stored.');
  response.type('application/octet-stream').send(found);
}
