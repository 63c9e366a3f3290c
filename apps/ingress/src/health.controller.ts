import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Readiness, type ReadinessReport } from '#libs/http';

@Controller('health')
export class IngressHealthController {
  constructor(private readonly readiness: Readiness) {}

  /** The process runs and answers; a restart would not help it. */
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** 200 when deliveries should come here, 503 while draining or without a database. */
  @Get('ready')
  async ready(@Res({ passthrough: true }) response: Response): Promise<ReadinessReport> {
    const report = await this.readiness.report();
    response.set('Cache-Control', 'no-store');
    if (!report.ready) response.status(HttpStatus.SERVICE_UNAVAILABLE);
    return report;
  }
}
