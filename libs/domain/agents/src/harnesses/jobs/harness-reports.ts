import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Settings } from '#platform/config';
import { SteadyTicks } from '#platform/jobs';
import { newUuid } from '#platform/kernel';
import { detectHarnesses } from '#execution/runner';
import { ConfiguredHarnesses } from '../adapters/configured-harnesses.js';
import { HarnessInstallationsStore } from '../persistence/harness-installations.store.js';

const INTERVAL_MS = 60_000;

/** Reports which agents are installed on this machine, which executes hosted runs as processes. */
@Injectable()
export class HarnessReports implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly instance = newUuid();
  private readonly ticks: SteadyTicks;

  constructor(
    private readonly settings: Settings,
    private readonly configured: ConfiguredHarnesses,
    private readonly installations: HarnessInstallationsStore,
    timers: SchedulerRegistry,
  ) {
    this.ticks = new SteadyTicks(timers, HarnessReports.name);
  }

  async onApplicationBootstrap(): Promise<void> {
    // In containers agents come with the image.
    if (this.settings.executor !== 'process') return;
    await this.report();
    this.ticks.every('harness-reports', INTERVAL_MS, () => this.report());
  }

  async onModuleDestroy(): Promise<void> {
    this.ticks.stop();
    // A database that is away takes the row when it is stale.
    await this.installations.remove(this.instance).catch(() => undefined);
  }

  private async report(): Promise<void> {
    await this.installations.put(this.instance, await detectHarnesses(this.configured.extra));
  }
}
