import { type DynamicModule, Module } from '@nestjs/common';
import { AgentsJobsModule } from '#domain/agents';
import { AnswersJobsModule } from '#domain/answers';
import { AutomationsJobsModule } from '#domain/automations';
import type { Settings } from '#platform/config';
import { ConversationsModule } from '#domain/conversations';
import { FactorySkillsModule } from '#domain/definitions';
import { JobsModule } from '#platform/jobs';
import { NotificationsJobsModule } from '#domain/notifications';
import { ObservabilityModule } from '#platform/observability';
import { CoreModule, PersistenceModule } from '#platform/persistence';
import { type LoadedPlugin, PluginsModule } from '#platform/plugins';
import { RunsJobsModule } from '#domain/runs';
import { SchedulesJobsModule } from '#domain/schedules';
import { StorageJobsModule } from '#platform/storage';
import { TimersJobsModule } from '#platform/timers';
import { WebhooksJobsModule } from '#domain/webhooks';

/** Background work: placement, timers, evaluation of deliveries, maintenance. */
@Module({})
export class ProcessorModule {
  static of(settings: Settings, plugins: readonly LoadedPlugin[] = []): DynamicModule {
    return {
      module: ProcessorModule,
      imports: [
        CoreModule.of(settings),
        PluginsModule.of(plugins, 'processor', settings.pluginVariables),
        ObservabilityModule,
        PersistenceModule.forRoot(),
        JobsModule.forRoot('processor'),
        StorageJobsModule,
        AgentsJobsModule,
        RunsJobsModule,
        // Deletes its projections when runs are pruned.
        ConversationsModule,
        NotificationsJobsModule,
        WebhooksJobsModule,
        TimersJobsModule,
        SchedulesJobsModule,
        AutomationsJobsModule,
        AnswersJobsModule,
        FactorySkillsModule,
      ],
    };
  }
}
