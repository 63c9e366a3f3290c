// What a processor has for automations, out of `dist`, without its clockwork: for programs that test or measure it.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

class FiringAppModule {}
Module({})(FiringAppModule);
class EvaluationModule {}
Module({})(EvaluationModule);
class CoreModule {}
Module({})(CoreModule);

/** `environment`: settings as environment variables. */
export async function startFiringApp(environment) {
  const { SchedulesJobsModule } = await import('#domain/schedules');
  const { TimerDispatcher, TimersJobsModule, TimerSteps } = await import('#platform/timers');
  const { AutomationsJobsModule, FiringSteps } = await import('#domain/automations');
  const { parseSettings, Settings } = await import('#platform/config');
  const { JobsModule, QueueConnections } = await import('#platform/jobs');
  const { Clock } = await import('#platform/kernel');
  const { ObservabilityModule } = await import('#platform/observability');
  const { clockProvider, PersistenceModule } = await import('#platform/persistence');
  const { StorageModule } = await import('#platform/storage');
  const {
    DeliveryEvaluators,
    EvaluateDeliveries,
    EVALUATION_PROVIDERS,
    EvaluationSteps,
    FACTORIES_PER_BATCH,
    fairShares,
    WebhooksModule,
  } = await import('#domain/webhooks');
  const evaluation = {
    module: EvaluationModule,
    imports: [ObservabilityModule, WebhooksModule],
    providers: EVALUATION_PROVIDERS,
  };
  const surroundings = {
    module: CoreModule,
    global: true,
    providers: [{ provide: Settings, useValue: parseSettings(environment) }, clockProvider],
    exports: [Settings, Clock],
  };
  const app = await NestFactory.createApplicationContext(
    {
      module: FiringAppModule,
      imports: [
        surroundings,
        ObservabilityModule,
        PersistenceModule.forRoot(),
        JobsModule.forRoot(),
        StorageModule,
        AutomationsJobsModule,
        evaluation,
        // With the clockwork where somebody else moves the clock.
        ...(environment.TIMER_CLOCKWORK ? [TimersJobsModule] : []),
        SchedulesJobsModule,
      ],
    },
    { logger: ['error', 'warn'], abortOnError: false },
  );
  const evaluate = app.get(EvaluateDeliveries, { strict: false });
  return {
    /** Calls `reached` with every named step. */
    onStep(reached) {
      for (const steps of [FiringSteps, EvaluationSteps, TimerSteps])
        app.get(steps, { strict: false }).reached = reached;
    },
    /** Ends the process at a named step: `step:nth`, or nowhere. */
    killAt(place = '') {
      const [killAt, nth = '1'] = place.split(':');
      let passed = 0;
      this.onStep((step) => {
        if (step !== killAt) return;
        passed += 1;
        if (passed === Number(nth)) process.kill(process.pid, 'SIGKILL');
      });
    },
    /** Is shown every delivery, after the automations. */
    onDelivery(see) {
      app.get(DeliveryEvaluators, { strict: false }).register({
        evaluate: (delivery) => {
          see(delivery);
          return Promise.resolve([]);
        },
      });
    },
    /** All deliveries that are due. Returns how many. */
    async evaluateAll() {
      let all = 0;
      for (let taken = 1; taken > 0; all += taken) {
        taken = 0;
        const factories = fairShares(await evaluate.waiting('0', 1000), 0);
        for (let index = 0; index < factories.length; index += FACTORIES_PER_BATCH)
          taken += await evaluate.execute(factories.slice(index, index + FACTORIES_PER_BATCH));
      }
      return all;
    },
    /** All timers that are due, lap by lap. Returns how many firings that were. */
    async fireTimers() {
      let all = 0;
      for (let fired = 1; fired > 0; all += fired)
        fired = await app.get(TimerDispatcher, { strict: false }).dispatchDue();
      return all;
    },
    async close() {
      const queues = app.get(QueueConnections, { strict: false });
      await app.close();
      await queues.end();
    },
  };
}
