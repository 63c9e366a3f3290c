import { Global, Module } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** Metrics for every room of one application. Logging needs no module: it stands behind Nest's `Logger`. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class ObservabilityModule {}
