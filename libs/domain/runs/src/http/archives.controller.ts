import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { OutsideApi, pathId, ProblemError, Public } from '#platform/http';
import { linkRefusal, SignedLinks } from '#platform/storage';
import { archiveKey, RunSnapshots } from '../application/run-snapshots.js';
import { LinkDownloads } from '../application/snapshot-limits.js';
import { sendArchive } from './run-snapshots.controller.js';

const UUID = pathId('uuid');

/** Downloads of workspaces through signed links: the URL itself is the permission. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('archives')
export class ArchivesController {
  constructor(
    private readonly snapshots: RunSnapshots,
    private readonly links: SignedLinks,
    private readonly downloads: LinkDownloads,
  ) {}

  @Get(':runId/:snapshotId')
  async download(
    @Param('runId', UUID) runId: string,
    @Param('snapshotId', UUID) snapshotId: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const verdict = this.links.verify(archiveKey(runId, snapshotId), request.query);
    if (!verdict.valid) throw linkRefusal(verdict.reason, 'download');
    // Links of earlier versions name nobody.
    const { requestedBy = '' } = verdict.link;
    return this.downloads.run(requestedBy, response, async () => {
      const result = await this.snapshots.archiveOf(runId, snapshotId);
      if (result.kind !== 'archive') throw notStored();
      await sendArchive(runId, result.content, response);
    });
  }
}

const notStored = (): ProblemError =>
  new ProblemError('resource_not_found', 'The snapshot that this link names is not stored any more.');
