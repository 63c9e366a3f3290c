import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { OutsideApi, ProblemError, Public, sendStream } from '#platform/http';
import { attachmentDisposition } from '../content.js';
import { LocalObjectStore } from '../local-object-store.js';
import { SignedLinks } from '../signed-links.js';
import { linkRefusal } from './link-refusal.js';

/** Downloads from the local store. The URL itself is the permission: without a valid signature nothing is said about the object. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('objects')
export class ObjectsController {
  constructor(
    private readonly store: LocalObjectStore,
    private readonly links: SignedLinks,
  ) {}

  @Get('*key')
  async download(@Req() request: Request, @Res() response: Response): Promise<void> {
    const segments: unknown = request.params.key;
    const key = Array.isArray(segments) ? segments.join('/') : '';
    const verdict = this.links.verify(key, request.query);
    if (!verdict.valid) throw linkRefusal(verdict.reason, 'download');
    // Without an entity tag a range cannot be conditional: If-Range gets the whole object.
    const range = request.headers['if-range'] === undefined ? request.headers.range : undefined;
    const part = await this.store.getPart(key, range);
    if (!part) throw new ProblemError('resource_not_found', 'The object that this link names no longer exists.');

    const { contentType, fileName } = verdict.link;
    response.set({
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'private',
      'X-Content-Type-Options': 'nosniff',
    });
    if ('unsatisfiable' in part) {
      response.status(416).set('Content-Range', `bytes */${part.sizeBytes}`).end();
      return;
    }
    const { stream, sizeBytes } = part;
    const bytes = part.range ?? { start: 0, end: sizeBytes - 1 };
    response.status(part.range ? 206 : 200).set({
      'Content-Length': String(bytes.end - bytes.start + 1),
      'Content-Disposition': attachmentDisposition(fileName ?? key),
      ...(part.range ? { 'Content-Range': `bytes ${bytes.start}-${bytes.end}/${sizeBytes}` } : {}),
    });
    // `setHeader`, not `set`: Express would add a charset to the media type.
    response.setHeader('Content-Type', contentType ?? part.contentType);
    if (request.method === 'HEAD') {
      stream.destroy();
      response.end();
      return;
    }
    await sendStream(stream, response);
  }
}
