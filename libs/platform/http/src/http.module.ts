import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, ModulesContainer } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import { Settings } from '#platform/config';
import { Database } from '#platform/persistence';
import { AccessLog } from './edge/access-log.js';
import { CompiledRoutes } from './edge/compiled-routes.js';
import { RATE_WINDOW_MS, RateLimitGuard, WindowStorage } from './edge/rate-limit.js';
import { Readiness } from './edge/readiness.js';
import { RouteTable } from './edge/route-table.js';
import { SenderAddress } from './edge/sender-address.js';
import { Shutdown } from './edge/shutdown.js';
import { Upgrades } from './edge/upgrades.js';
import { InputPipe, QueryGuard } from './fields/input.pipe.js';
import { HealthController, InstallationHealthController } from './operational/health.controller.js';
import { ConsoleController, HomeController, ProblemPagesController } from './operational/pages.controller.js';
import { ProblemFilter, ProblemWriter } from './problems/problem-writer.js';

@Global()
@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      inject: [Settings],
      useFactory: ({ apiRatePerMinute }: Settings) => ({
        throttlers: [{ ttl: RATE_WINDOW_MS, limit: apiRatePerMinute }],
        storage: new WindowStorage(),
        skipIf: () => apiRatePerMinute === 0,
      }),
    }),
  ],
  controllers: [
    HomeController,
    ConsoleController,
    HealthController,
    InstallationHealthController,
    ProblemPagesController,
  ],
  providers: [
    {
      provide: RouteTable,
      inject: [ModulesContainer],
      useFactory: (modules: ModulesContainer) => new RouteTable(modules),
    },
    AccessLog,
    CompiledRoutes,
    ProblemWriter,
    Readiness,
    SenderAddress,
    Shutdown,
    Upgrades,
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_PIPE, useClass: InputPipe },
    { provide: APP_GUARD, useClass: RateLimitGuard },
    { provide: APP_GUARD, useClass: QueryGuard },
  ],
  exports: [CompiledRoutes, RouteTable, ProblemWriter, Readiness, SenderAddress, Shutdown, Upgrades],
})
export class HttpModule implements OnModuleInit {
  constructor(
    private readonly readiness: Readiness,
    private readonly database: Database,
  ) {}

  onModuleInit(): void {
    this.readiness.register('database', () => this.database.assertWritable());
  }
}
