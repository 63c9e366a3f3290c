import {
  type CompiledTrigger,
  Extension,
  type Issue,
  type Queryable,
  type SampledEvent,
  type Trigger,
  type TriggerEvent,
  TriggerProvider,
  type TriggerSample,
  type TriggerScope,
} from 'headrace/plugin';

export const ENVIRONMENTS = ['staging', 'production'];

export interface Deployment {
  /** Of the deployment, permanent: an automation starts one run for it. */
  readonly id: string;
  readonly environment: string;
  readonly failed: boolean;
}

const environmentOf = ({ environment }: Trigger): string => (typeof environment === 'string' ? environment : '');

/** `{"provider": "deploy", "event": "finished", "environment": "production", "failed_only": true}` */
@Extension()
export class DeployTrigger extends TriggerProvider {
  override readonly provider = 'deploy';
  override readonly event = 'finished';
  override readonly schema = {
    properties: {
      environment: { type: 'string', enum: ENVIRONMENTS },
      failed_only: { type: 'boolean' },
    },
    required: ['environment'],
  };

  override validate(
    _tx: Queryable,
    _scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (readonly Issue[])[]> {
    const detail = `must be ${ENVIRONMENTS.join(' or ')}`;
    return Promise.resolve(
      triggers.map((trigger) =>
        ENVIRONMENTS.includes(environmentOf(trigger)) ? [] : [{ pointer: '/environment', detail }],
      ),
    );
  }

  /** Events of one environment do not reach the triggers of another. */
  override subjectOf(trigger: Trigger): string {
    return environmentOf(trigger);
  }

  override compile(trigger: Trigger): CompiledTrigger {
    return {
      check: (event) => {
        const { failed } = event.readPayload() as Pick<Deployment, 'failed'>;
        const passed = trigger['failed_only'] !== true || failed;
        return [{ check: 'outcome', passed, reason: `The deployment ${failed ? 'failed' : 'succeeded'}.` }];
      },
    };
  }

  /** For the test of a trigger with an invented payload. */
  override sample(_tx: Queryable, scope: TriggerScope, trigger: Trigger, sample: TriggerSample): Promise<SampledEvent> {
    if (sample.kind === 'delivery')
      return Promise.resolve({
        kind: 'invalid',
        issues: [{ pointer: '/delivery_id', detail: 'must be omitted: deployments are no deliveries' }],
      });
    const { failed = false } = (sample.payload ?? {}) as { readonly failed?: boolean };
    const event = this.eventOf(scope, { id: 'sample', environment: environmentOf(trigger), failed });
    return Promise.resolve({ kind: 'event', event });
  }

  eventOf({ factoryUid, teamUid }: TriggerScope, { id, environment, failed }: Deployment): TriggerEvent {
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
