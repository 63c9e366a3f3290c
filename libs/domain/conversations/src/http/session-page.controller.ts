import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '#platform/auth';
import { OutsideApi, PageFiles, pathId } from '#platform/http';

/**
 * The page that `session_link` points to. It is the same for every run and contains no data of the run: its script asks
 * for a token and reads the run with it, so that the page does not reveal whether a run exists.
 */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('runs')
export class SessionPageController {
  private readonly page = new PageFiles('session', 'libs/domain/conversations/assets');

  @Get(':runId')
  show(@Param('runId', pathId('uuid')) _runId: string, @Res() response: Response): void {
    this.page.show(response);
  }

  @Get('assets/:name')
  asset(@Param('name') name: string, @Res() response: Response): void {
    this.page.asset(name, response);
  }
}
