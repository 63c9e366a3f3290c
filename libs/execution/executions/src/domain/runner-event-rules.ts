import { STOP_REASONS, type RunnerEvent } from '#execution/runner-protocol';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface EventFault {
  readonly field: string;
  /** Completes "`field` …"; never repeats the value. */
  readonly detail: string;
}

/**
 * What is wrong with the fields by which an event moves a run; null when nothing is. Other fields may be anything: they
 * are stored as they are, or read with care.
 */
export function eventFault({ kind, data }: Pick<RunnerEvent, 'kind' | 'data'>): EventFault | null {
  switch (kind) {
    case 'turn_started': {
      const { followup_id: id } = data;
      if (id === undefined || (typeof id === 'string' && UUID.test(id))) return null;
      return { field: 'followup_id', detail: 'must be a UUID' };
    }
    case 'turn_ended':
      if (STOP_REASONS.some((known) => known === data['stop_reason'])) return null;
      return { field: 'stop_reason', detail: `must be one of ${STOP_REASONS.join(', ')}` };
    default:
      return null;
  }
}
