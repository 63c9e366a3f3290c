import { Controller, Param, Put, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { OutsideApi, pathId, ProblemError, Public, StreamedBody } from '#platform/http';
import { limited, linkRefusal, SignedLinks } from '#platform/storage';
import { FollowupAttachments, uploadKey } from '../application/followup-attachments.js';

/** Uploads through signed links: the URL itself is the permission. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('uploads')
export class UploadsController {
  constructor(
    private readonly attachments: FollowupAttachments,
    private readonly links: SignedLinks,
  ) {}

  @Put('attachments/:attachmentId')
  @StreamedBody()
  async attachment(
    @Param('attachmentId', pathId('uuid')) id: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const verdict = this.links.verify(uploadKey(id), request.query);
    if (!verdict.valid) throw linkRefusal(verdict.reason, 'upload');
    const result = await limited('An attachment', this.attachments.upload(id, request));
    if (result.kind === 'not_found')
      throw new ProblemError('resource_not_found', 'The attachment was sent or discarded. Prepare it again.');
    response.status(204).end();
  }
}
