import { Module, type Type } from '@nestjs/common';
import { AutomationsJobsModule } from '#domain/automations';
import type { Settings } from '#platform/config';
import { JobsModule, QueueConnections } from '#platform/jobs';
import { ObservabilityModule } from '#platform/observability';
import { StorageModule } from '#platform/storage';
import { EvaluateDeliveries, EVALUATION_PROVIDERS, WebhooksModule } from '#domain/webhooks';
import { evaluateOnce, startParts } from '../../support/parts.js';

/** What a processor has for automations, without its clockwork: nothing happens in it until a test asks. */
export interface FiringProcess {
  /** Evaluates all deliveries that are due. Returns how many. */
  evaluateAll(): Promise<number>;
  /** One of its parts. */
  get<T>(part: Type<T>): T;
  close(): Promise<void>;
}

@Module({ imports: [ObservabilityModule, WebhooksModule], providers: EVALUATION_PROVIDERS })
class EvaluationModule {}

export async function startFiring(settings: Settings, more: readonly Type[] = []): Promise<FiringProcess> {
  const app = await startParts(settings, [
    ObservabilityModule,
    JobsModule.forRoot(),
    StorageModule,
    AutomationsJobsModule,
    EvaluationModule,
    ...more,
  ]);
  const evaluate = app.get(EvaluateDeliveries, { strict: false });
  return {
    evaluateAll: async () => {
      let all = 0;
      for (let taken = 1; taken > 0; all += taken) taken = await evaluateOnce(evaluate);
      return all;
    },
    get: (part) => app.get(part, { strict: false }),
    close: async () => {
      const queues = app.get(QueueConnections, { strict: false });
      await app.close();
      await queues.end();
    },
  };
}
