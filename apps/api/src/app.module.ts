import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { AgentsHttpModule } from '#libs/agents';
import { AuthHttpModule } from '#libs/auth';
import { AutomationsHttpModule } from '#libs/automations';
import type { Settings } from '#libs/config';
import { ConversationsHttpModule } from '#libs/conversations';
import { DefinitionsHttpModule, DispatchModule, FactoryFileSchemasModule } from '#libs/definitions';
import { EnvironmentsHttpModule } from '#libs/environments';
import { HttpModule } from '#libs/http';
import { JobsModule } from '#libs/jobs';
import { NotificationsHttpModule } from '#libs/notifications';
import { ObservabilityModule } from '#libs/observability';
import { PersistenceModule, SurroundingsModule } from '#libs/persistence';
import { RunsHttpModule } from '#libs/runs';
import { SchedulesHttpModule } from '#libs/schedules';
import { SecretsHttpModule } from '#libs/secrets';
import { StorageHttpModule, StorageModule } from '#libs/storage';
import { DeliveryLogModule, WebhooksHttpModule } from '#libs/webhooks';
import { WorkersHttpModule } from '#libs/workers';

/** The API: the platform, then the rooms it serves. */
@Module({})
export class ApiModule {
  /** `more`: what an installation adds to it. */
  static of(settings: Settings, more: readonly Type[] = []): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        SurroundingsModule.of(settings),
        ObservabilityModule,
        PersistenceModule.forRoot(),
        JobsModule.forRoot({ handlesJobs: false }),
        HttpModule,
        AuthHttpModule,
        StorageModule,
        StorageHttpModule,
        SecretsHttpModule,
        EnvironmentsHttpModule,
        AgentsHttpModule,
        WorkersHttpModule,
        RunsHttpModule,
        ConversationsHttpModule,
        NotificationsHttpModule,
        WebhooksHttpModule,
        DeliveryLogModule,
        SchedulesHttpModule,
        AutomationsHttpModule,
        DefinitionsHttpModule,
        DispatchModule,
        FactoryFileSchemasModule,
        ...more,
      ],
    };
  }
}
