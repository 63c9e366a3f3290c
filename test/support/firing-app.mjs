// What a processor has for automations, out of `dist`, without its clockwork: for programs that test or measure it.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

class FiringAppModule {}
Module({})(FiringAppModule);
class EvaluationModule {}
Module({})(EvaluationModule);

function before(part, method, act) {
  const original = part[method].bind(part);
  part[method] = (...given) => {
    act();
    return original(...given);
  };
}

function after(part, method, act) {
  const original = part[method].bind(part);
  part[method] = async (...given) => {
    const result = await original(...given);
    act(result);
    return result;
  };
}

/** `environment`: settings as environment variables. */
export async function startFiringApp(environment) {
  const { SchedulesJobsModule } = await import('#domain/schedules');
  const { TimerDispatcher, TimersJobsModule, TimerSteps } = await import('#platform/timers');
  const { AutomationsJobsModule, FireAutomations } = await import('#domain/automations');
  const { CreateRun } = await import('#domain/runs');
  const { parseSettings } = await import('#platform/config');
  const { JobsModule, QueueConnections } = await import('#platform/jobs');
  const { ObservabilityModule } = await import('#platform/observability');
  const { CoreModule, PersistenceModule } = await import('#platform/persistence');
  const { StorageModule } = await import('#platform/storage');
  const { DeliveryEvaluators, EvaluateDeliveries, EVALUATION_PROVIDERS, WebhooksModule } =
    await import('#domain/webhooks');
  const evaluation = {
    module: EvaluationModule,
    imports: [ObservabilityModule, WebhooksModule],
    providers: EVALUATION_PROVIDERS,
  };
  const app = await NestFactory.createApplicationContext(
    {
      module: FiringAppModule,
      imports: [
        CoreModule.of(parseSettings(environment)),
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
      const { store, evaluators } = evaluate;
      after(store, 'claim', (claimed) => claimed.length > 0 && reached('taken'));
      after(evaluators, 'evaluate', () => reached('evaluated'));
      after(store, 'record', () => reached('recorded'));
      const fire = app.get(FireAutomations, { strict: false });
      before(fire.store, 'reached', () => reached('before_reading'));
      after(fire.store, 'reached', () => reached('triggers_read'));
      before(fire.store, 'load', () => reached('filters_evaluated'));
      after(fire.store, 'load', () => reached('automations_loaded'));
      before(fire.launch, 'execute', () => reached('before_launch'));
      after(fire.launch, 'execute', () => reached('launched'));
      after(fire, 'executeAll', (results) => results.some(({ matched }) => matched) && reached('all_launched'));
      app.get(TimerSteps, { strict: false }).reached = reached;
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
        taken = await evaluate.runOnce(new AbortController().signal, (error) => {
          throw error;
        });
      }
      return all;
    },
    /**
     * Remembers the runs that are created from now on. Returns a function that creates them again, up to `concurrency` at the same
     * time, forgets them, and returns how many they were.
     */
    rememberRuns() {
      const create = app.get(CreateRun, { strict: false });
      const execute = create.execute.bind(create);
      const remembered = [];
      create.execute = (caller, command) => {
        remembered.push([caller, command]);
        return execute(caller, command);
      };
      return async (concurrency) => {
        const commands = remembered.splice(0);
        const waiting = commands.values();
        const createAll = async () => {
          for (const [caller, command] of waiting) {
            const { kind } = await execute(caller, { ...command, launchKey: `${command.launchKey} again` });
            if (kind !== 'created') throw new Error(`A run was not created: ${kind}.`);
          }
        };
        await Promise.all(Array.from({ length: concurrency }, createAll));
        return commands.length;
      };
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
