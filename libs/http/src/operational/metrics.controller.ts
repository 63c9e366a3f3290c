import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Metrics } from '#libs/observability';
import { Public } from '../edge/access.js';
import { OutsideApi } from '../edge/route-table.js';

/** Prometheus text. Without a token, as scrapers expect: it holds counts only. Keep it off the public side of a proxy. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  async render(@Res({ passthrough: true }) response: Response): Promise<string> {
    response.set('Content-Type', this.metrics.registry.contentType);
    return this.metrics.render();
  }
}
