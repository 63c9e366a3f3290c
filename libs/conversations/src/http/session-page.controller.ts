import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '#libs/auth';
import { OutsideApi, pathId, ProblemError } from '#libs/http';
import { SessionPage } from './session-page.js';

/** Only files of ours, only our own service, nothing inline: what an agent says could not run even if it were markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The page that `session_link` points to. It is the same for every run and holds nothing of any: its script asks for a
 * token and reads the run with it, so whether a run exists cannot be told from here.
 */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('runs')
export class SessionPageController {
  constructor(private readonly page: SessionPage) {}

  @Get(':runId')
  show(@Param('runId', pathId('uuid')) _runId: string, @Res() response: Response): void {
    this.send('session.html', response);
  }

  @Get('assets/:name')
  asset(@Param('name') name: string, @Res() response: Response): void {
    if (name === 'session.html') throw notThere();
    this.send(name, response);
  }

  private send(name: string, response: Response): void {
    const file = this.page.find(name);
    if (!file) throw notThere();
    response.set({
      'Content-Type': file.contentType,
      'Content-Security-Policy': POLICY,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-cache',
    });
    response.end(file.content);
  }
}

const notThere = (): ProblemError => new ProblemError('resource_not_found', 'There is nothing at this path.');
