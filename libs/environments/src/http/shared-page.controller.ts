import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '#libs/auth';
import { OutsideApi, ProblemError } from '#libs/http';
import { SharedPage } from './shared-page.js';

/** Only files of ours, only our own service, nothing inline. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Where links lead to. The page is the same for all of them: the token stands behind the #, which no server is told. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('environments')
export class SharedPageController {
  constructor(private readonly page: SharedPage) {}

  @Get('shared')
  show(@Res() response: Response): void {
    this.send('shared.html', response);
  }

  @Get('assets/:name')
  asset(@Param('name') name: string, @Res() response: Response): void {
    if (name === 'shared.html') throw notThere();
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
