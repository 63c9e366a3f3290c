import { Controller, Get, Redirect } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../edge/access.js';
import { OutsideApi } from '../edge/route-table.js';

/** Redirects a browser that opens the origin to the documentation. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller()
export class HomeController {
  @Get()
  @Redirect('/docs', 302)
  home(): void {
    return undefined;
  }
}
