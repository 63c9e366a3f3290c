import { Clock, type Issue } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { Extension } from '#platform/plugins';
import { type Cron, Timers } from '#platform/timers';
import {
  type CompiledTrigger,
  type SampledEvent,
  TriggerProvider,
  type TriggerSample,
  type TriggerScope,
} from '../application/trigger-provider.js';
import { readScheduleTrigger, subjectOfCron } from '../domain/schedule-trigger.js';
import type { Trigger, TriggerEvent } from '../domain/trigger.js';

/** Kind of the timers: one for each cron expression in the triggers of a factory. */
export const AUTOMATION_TIMER = 'automation';

@Extension()
export class ScheduleTrigger extends TriggerProvider {
  override readonly provider = 'schedule';
  override readonly event = 'cron_fired';
  override readonly schema = {
    properties: {
      schedule: {
        type: 'object',
        description: 'When the automation starts.',
        properties: {
          name: { type: 'string', description: 'Display name.', minLength: 1, maxLength: 128 },
          cron: {
            type: 'string',
            description: 'Five fields: minute, hour, day of the month, month, weekday.',
            examples: ['0 9 * * 1-5'],
            maxLength: 256,
          },
          timezone: {
            type: 'string',
            description: 'IANA name of the time zone of the expression.',
            default: 'UTC',
          },
        },
        required: ['cron'],
        additionalProperties: false,
      },
    },
    required: ['schedule'],
  };

  constructor(
    private readonly timers: Timers,
    private readonly clock: Clock,
  ) {
    super();
  }

  override validate(
    _tx: Queryable,
    _scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (readonly Issue[])[]> {
    const read = triggers.map(readScheduleTrigger);
    return Promise.resolve(read.map((one) => (one.kind === 'invalid' ? one.issues : [])));
  }

  override subjectOf(trigger: Trigger): string {
    const read = readScheduleTrigger(trigger);
    return read.kind === 'valid' ? subjectOfCron(read.cron) : '';
  }

  /** A timer belongs to the factory; one that no trigger uses any longer is deleted when it fires. */
  override async subscribe(tx: Queryable, { factoryUid }: TriggerScope, triggers: readonly Trigger[]): Promise<void> {
    const crons = new Map<string, Cron>();
    for (const trigger of triggers) {
      const read = readScheduleTrigger(trigger);
      if (read.kind === 'valid') crons.set(subjectOfCron(read.cron), read.cron);
    }
    const wanted = [...crons].map(([subject, cron]) => ({
      key: timerKey(factoryUid, subject),
      cron,
      jitterSeconds: 0,
    }));
    await this.timers.set(tx, AUTOMATION_TIMER, wanted);
  }

  override compile(trigger: Trigger): CompiledTrigger {
    const read = readScheduleTrigger(trigger);
    if (read.kind === 'invalid')
      return { check: () => [{ check: 'schedule', passed: false, reason: 'The stored schedule is invalid.' }] };
    const subject = subjectOfCron(read.cron);
    return {
      check: (event) => {
        const passed = subject === event.subject;
        const reason = passed
          ? 'The schedule was due.'
          : `The schedule is “${subject}”, the event is “${event.subject}”.`;
        return [{ check: 'schedule', passed, reason }];
      },
    };
  }

  /** The next due time, for any payload. */
  override sample(_tx: Queryable, scope: TriggerScope, trigger: Trigger, sample: TriggerSample): Promise<SampledEvent> {
    if (sample.kind === 'delivery')
      return Promise.resolve({
        kind: 'invalid',
        issues: [{ pointer: '/delivery_id', detail: 'must be omitted: a schedule has no deliveries' }],
      });
    const read = readScheduleTrigger(trigger);
    const dueAt = (read.kind === 'valid' ? read.cron.next(this.clock.now()) : null) ?? this.clock.now();
    return Promise.resolve({ kind: 'event', event: this.eventOf(scope, this.subjectOf(trigger), dueAt) });
  }

  eventOf({ factoryUid, teamUid }: TriggerScope, subject: string, dueAt: Date): TriggerEvent {
    return {
      provider: this.provider,
      event: this.event,
      subject,
      key: `cron/${subject}/${dueAt.toISOString()}`,
      factoryUid,
      teamUid,
      occurredAt: dueAt,
      source: 'SCHEDULED_AGENT',
      labels: { due_at: dueAt.toISOString() },
      facts: [
        { label: 'Schedule', value: subject },
        { label: 'Due', value: dueAt.toISOString() },
      ],
      payload: null,
      readPayload: () => null,
      triggerUrl: null,
      schedule: null,
    };
  }
}

const SEPARATOR = '/';

export const timerKey = (factoryUid: string, subject: string): string => `${factoryUid}${SEPARATOR}${subject}`;

/** The factory and the subject in the key of a timer; a uid does not contain the separator. */
export function readTimerKey(key: string): { readonly factoryUid: string; readonly subject: string } {
  const end = key.indexOf(SEPARATOR);
  return { factoryUid: key.slice(0, end), subject: key.slice(end + 1) };
}
