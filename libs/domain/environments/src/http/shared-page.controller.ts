import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '#platform/auth';
import { OutsideApi, PageFiles } from '#platform/http';

/** The page behind links. It is the same for all of them: the token comes after the #, which no browser sends. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('environments')
export class SharedPageController {
  private readonly page = new PageFiles('shared', 'libs/domain/environments/assets');

  @Get('shared')
  show(@Res() response: Response): void {
    this.page.show(response);
  }

  @Get('assets/:name')
  asset(@Param('name') name: string, @Res() response: Response): void {
    this.page.asset(name, response);
  }
}
