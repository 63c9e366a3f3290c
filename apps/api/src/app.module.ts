import { type DynamicModule, Module } from '@nestjs/common';
import { AdministrationHttpModule } from '#domain/administration';
import { AgentsHttpModule } from '#domain/agents';
import { AnswersHttpModule } from '#domain/answers';
import { AuthHttpModule } from '#platform/auth';
import { AutomationsHttpModule } from '#domain/automations';
import type { Settings } from '#platform/config';
import { ConversationsHttpModule } from '#domain/conversations';
import { DefinitionsHttpModule } from '#domain/definitions';
import { EnvironmentsHttpModule } from '#domain/environments';
import { HttpModule } from '#platform/http';
import { JobsModule } from '#platform/jobs';
import { NotificationsHttpModule } from '#domain/notifications';
import { ObservabilityModule } from '#platform/observability';
import { CoreModule, PersistenceModule } from '#platform/persistence';
import { type LoadedPlugin, PluginsModule } from '#platform/plugins';
import { RunsHttpModule } from '#domain/runs';
import { SchedulesHttpModule } from '#domain/schedules';
import { SecretsHttpModule } from '#platform/secrets';
import { StorageHttpModule, StorageModule } from '#platform/storage';
import { WebhooksHttpModule } from '#domain/webhooks';
import { WorkersHttpModule } from '#execution/worker-gateway';

@Module({})
export class ApiModule {
  static of(settings: Settings, plugins: readonly LoadedPlugin[] = []): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        CoreModule.of(settings),
        PluginsModule.of(plugins, 'api', settings.pluginVariables),
        ObservabilityModule,
        PersistenceModule.forRoot(),
        JobsModule.forRoot('api'),
        HttpModule,
        AuthHttpModule,
        StorageModule,
        StorageHttpModule,
        AdministrationHttpModule,
        SecretsHttpModule,
        EnvironmentsHttpModule,
        AgentsHttpModule,
        WorkersHttpModule,
        RunsHttpModule,
        ConversationsHttpModule,
        NotificationsHttpModule,
        WebhooksHttpModule,
        SchedulesHttpModule,
        AnswersHttpModule,
        AutomationsHttpModule,
        DefinitionsHttpModule,
      ],
    };
  }
}
