import { type DynamicModule, Module } from '@nestjs/common';
import { AgentsJobsModule } from '#libs/agents';
import { AutomationsJobsModule } from '#libs/automations';
import type { Settings } from '#libs/config';
import { ConversationsModule } from '#libs/conversations';
import { FactorySkillsModule } from '#libs/definitions';
import { JobsModule } from '#libs/jobs';
import { NotificationsJobsModule } from '#libs/notifications';
import { ObservabilityModule } from '#libs/observability';
import { PersistenceModule, SurroundingsModule } from '#libs/persistence';
import { RunsJobsModule } from '#libs/runs';
import { SchedulesJobsModule } from '#libs/schedules';
import { StorageJobsModule } from '#libs/storage';
import { WebhooksJobsModule } from '#libs/webhooks';

/** Background work: BullMQ processors, placement, sweepers. */
@Module({})
export class ProcessorModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: ProcessorModule,
      imports: [
        SurroundingsModule.of(settings),
        ObservabilityModule,
        PersistenceModule.forRoot(),
        JobsModule.forRoot({ handlesJobs: true }),
        StorageJobsModule,
        AgentsJobsModule,
        RunsJobsModule,
        // Takes its folds along when runs are pruned.
        ConversationsModule,
        NotificationsJobsModule,
        WebhooksJobsModule,
        SchedulesJobsModule,
        AutomationsJobsModule,
        FactorySkillsModule,
      ],
    };
  }
}
