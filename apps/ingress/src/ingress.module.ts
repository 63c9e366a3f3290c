import { type DynamicModule, Global, Module, type OnModuleInit } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Settings } from '#libs/config';
import { HealthController, Readiness } from '#libs/http';
import { Database, PersistenceModule } from '#libs/persistence';
import { IngressFilter } from './ingress.filter.js';
import { WebhooksController } from './webhooks.controller.js';

@Global()
@Module({})
class IngressSettingsModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: IngressSettingsModule,
      providers: [{ provide: Settings, useValue: settings }],
      exports: [Settings],
    };
  }
}

/** The public webhook ingress: its own listener, no bearer tokens, no documentation. */
@Module({})
export class IngressModule implements OnModuleInit {
  constructor(
    private readonly readiness: Readiness,
    private readonly database: Database,
  ) {}

  static of(settings: Settings): DynamicModule {
    return {
      module: IngressModule,
      imports: [IngressSettingsModule.of(settings), PersistenceModule.forRoot()],
      controllers: [HealthController, WebhooksController],
      providers: [Readiness, { provide: APP_FILTER, useClass: IngressFilter }],
    };
  }

  onModuleInit(): void {
    this.readiness.register('database', () => this.database.query('SELECT 1'));
  }
}
