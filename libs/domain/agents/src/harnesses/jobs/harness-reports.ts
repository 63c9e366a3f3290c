import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, defineTask, type PeriodicTask } from '#platform/jobs';
import { newUuid } from '#platform/kernel';
import { detectHarnesses } from '#execution/runner';
import { ConfiguredHarnesses } from '../adapters/configured-harnesses.js';
import { HarnessInstallationsStore } from '../persistence/harness-installations.store.js';

const REPORT_HARNESSES_TASK = defineTask({
  name: 'report-harnesses',
  library: 'agents',
  process: 'processor',
  scope: 'process',
  period: 60_000,
  description: 'Reports which agents are installed on this machine.',
  condition: '`EXECUTOR=process`',
});

@Injectable()
export class HarnessReports implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly instance = newUuid();
  private task: PeriodicTask | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly configured: ConfiguredHarnesses,
    private readonly installations: HarnessInstallationsStore,
    private readonly tasks: BackgroundTasks,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    // Containers bring the agents with their image.
    if (this.settings.executor !== 'process') return;
    await this.report();
    this.task = this.tasks.run(REPORT_HARNESSES_TASK, () => this.report());
  }

  async onModuleDestroy(): Promise<void> {
    await this.task?.stop();
    // When the database is unavailable, the row is deleted later because it is out of date.
    await this.installations.remove(this.instance).catch(() => undefined);
  }

  private async report(): Promise<void> {
    await this.installations.put(this.instance, await detectHarnesses(this.configured.extra));
  }
}
