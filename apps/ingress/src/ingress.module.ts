import { type DynamicModule, Module, type OnModuleInit } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import type { Settings } from '#platform/config';
import { HealthController, Readiness } from '#platform/http';
import { JobsModule } from '#platform/jobs';
import { CoreModule, Database, PersistenceModule } from '#platform/persistence';
import { type LoadedPlugin, PluginsModule } from '#platform/plugins';
import { IngressFilter, WebhookIngressModule } from '#domain/ingress';

/** The public webhook ingress: its own listener, no bearer tokens, no documentation. */
@Module({})
export class IngressModule implements OnModuleInit {
  constructor(
    private readonly readiness: Readiness,
    private readonly database: Database,
  ) {}

  static of(settings: Settings, plugins: readonly LoadedPlugin[] = []): DynamicModule {
    return {
      module: IngressModule,
      imports: [
        CoreModule.of(settings),
        PluginsModule.of(plugins, 'ingress', settings.pluginVariables),
        PersistenceModule.forRoot(),
        JobsModule.forRoot('ingress'),
        WebhookIngressModule,
      ],
      controllers: [HealthController],
      providers: [Readiness, { provide: APP_FILTER, useClass: IngressFilter }],
    };
  }

  onModuleInit(): void {
    this.readiness.register('database', () => this.database.assertWritable());
  }
}
