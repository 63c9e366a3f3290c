import { type DynamicModule, Global, Module } from '@nestjs/common';
import { AutomationsJobsModule } from '#libs/automations';
import { Settings } from '#libs/config';
import { ConversationsModule } from '#libs/conversations';
import { JobsModule } from '#libs/jobs';
import { Clock } from '#libs/kernel';
import { NotificationsJobsModule } from '#libs/notifications';
import { ObservabilityModule } from '#libs/observability';
import { clockProvider, PersistenceModule } from '#libs/persistence';
import { RunsJobsModule } from '#libs/runs';
import { SchedulesJobsModule } from '#libs/schedules';
import { StorageJobsModule } from '#libs/storage';
import { WebhooksJobsModule } from '#libs/webhooks';

@Global()
@Module({})
class ProcessorSettingsModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: ProcessorSettingsModule,
      providers: [{ provide: Settings, useValue: settings }, clockProvider],
      exports: [Settings, Clock],
    };
  }
}

/** Background work: BullMQ processors, placement, sweepers. */
@Module({})
export class ProcessorModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: ProcessorModule,
      imports: [
        ProcessorSettingsModule.of(settings),
        ObservabilityModule,
        PersistenceModule.forRoot(),
        JobsModule.forRoot({ handlesJobs: true }),
        StorageJobsModule,
        RunsJobsModule,
        // Takes its folds along when runs are pruned.
        ConversationsModule,
        NotificationsJobsModule,
        WebhooksJobsModule,
        SchedulesJobsModule,
        AutomationsJobsModule,
      ],
    };
  }
}
