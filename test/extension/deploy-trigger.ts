import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import {
  AutomationsModule,
  type CompiledTrigger,
  FireAutomations,
  type SampledEvent,
  type Trigger,
  type TriggerEvent,
  TriggerProvider,
  TriggerProviders,
  type TriggerSample,
  type TriggerScope,
} from '#domain/automations';
import type { Queryable } from '#platform/persistence';
import type { Issue } from '#platform/kernel';

const environmentOf = ({ environment }: Trigger): string => (typeof environment === 'string' ? environment : '');

/** A trigger as an extension can add it: it fires automations when a deployment has finished. */
@Injectable()
export class DeployTrigger extends TriggerProvider implements OnModuleInit {
  override readonly provider = 'deploy';
  override readonly event = 'finished';
  override readonly schema = {
    properties: {
      environment: { type: 'string', enum: ['staging', 'production'] },
      failed_only: { type: 'boolean' },
    },
    required: ['environment'],
  };

  constructor(private readonly providers: TriggerProviders) {
    super();
  }

  onModuleInit(): void {
    this.providers.register(this);
  }

  override validate(
    _tx: Queryable,
    _scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (readonly Issue[])[]> {
    const detail = 'must be staging or production';
    return Promise.resolve(
      triggers.map((trigger) =>
        ['staging', 'production'].includes(environmentOf(trigger)) ? [] : [{ pointer: '/environment', detail }],
      ),
    );
  }

  override subjectOf(trigger: Trigger): string {
    return environmentOf(trigger);
  }

  override compile(trigger: Trigger): CompiledTrigger {
    return {
      check: (event) => {
        const { failed } = event.readPayload() as { failed: boolean };
        const passed = trigger.failed_only !== true || failed;
        return [{ check: 'outcome', passed, reason: `The deployment ${failed ? 'failed' : 'succeeded'}.` }];
      },
    };
  }

  override sample(_tx: Queryable, scope: TriggerScope, trigger: Trigger, sample: TriggerSample): Promise<SampledEvent> {
    if (sample.kind === 'delivery')
      return Promise.resolve({
        kind: 'invalid',
        issues: [{ pointer: '/delivery_id', detail: 'is not known of deployments' }],
      });
    const { failed = false } = (sample.payload ?? {}) as { failed?: boolean };
    const event = this.eventOf(scope, { id: 'sample', environment: environmentOf(trigger), failed });
    return Promise.resolve({ kind: 'event', event });
  }

  eventOf(
    { factoryUid, teamUid }: TriggerScope,
    { id, environment, failed }: { id: string; environment: string; failed: boolean },
  ): TriggerEvent {
    return {
      provider: this.provider,
      event: this.event,
      subject: environment,
      key: `deploy/${id}`,
      factoryUid,
      teamUid,
      occurredAt: new Date(),
      source: 'ORCHESTRATION',
      labels: { deployment: id },
      facts: [{ label: 'Deployment', value: `${id} to ${environment}` }],
      payload: Buffer.from(JSON.stringify({ failed })),
      readPayload: () => ({ failed }),
      triggerUrl: null,
      schedule: null,
    };
  }
}

/** Fires automations when a deployment has finished. */
@Injectable()
export class Deployments {
  constructor(
    private readonly trigger: DeployTrigger,
    private readonly fire: FireAutomations,
  ) {}

  finished(scope: TriggerScope, deployment: { id: string; environment: string; failed: boolean }) {
    return this.fire.execute(this.trigger.eventOf(scope, deployment));
  }
}

@Module({ imports: [AutomationsModule], providers: [DeployTrigger, Deployments], exports: [Deployments] })
export class DeployTriggerModule {}
