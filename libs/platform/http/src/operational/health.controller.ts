import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { ownVersion } from '#platform/kernel';
import { InstalledPlugins, type PluginSummary } from '#platform/plugins';
import { Readiness, type ReadinessReport } from '../edge/readiness.js';
import { OutsideApi, Public } from '../edge/route-options.js';

@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** Liveness: the process answers requests; a restart would not change anything. */
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Readiness: 200 if the process accepts requests, 503 while it starts, drains or has no database. */
  @Get('ready')
  async ready(@Res({ passthrough: true }) response: Response): Promise<ReadinessReport> {
    const report = await this.readiness.report();
    response.set('Cache-Control', 'no-store');
    if (!report.ready) response.status(HttpStatus.SERVICE_UNAVAILABLE);
    return report;
  }
}

/** For the API only: the ingress is public. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('health')
export class InstallationHealthController {
  private readonly version = ownVersion();

  constructor(private readonly plugins: InstalledPlugins) {}

  /** What runs here: the version of Headrace, and the plugins of the installation with theirs. */
  @Get()
  health(): { status: 'ok'; version: string; plugins: readonly PluginSummary[] } {
    return { status: 'ok', version: this.version, plugins: this.plugins.summaries };
  }
}
