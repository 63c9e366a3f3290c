import { createHash } from 'node:crypto';
import { maskSecrets } from '#platform/kernel';
import { LIFECYCLE_KINDS, type LifecycleKind, type RunEvent } from '#execution/runner-protocol';

/** One entry of a run's timeline, as it goes over the wire. */
export interface TimelineEvent {
  /** The same at every reading. */
  event_uuid: string;
  run_id: string;
  /** Position in the log of the run; other entries of the log are between those of the timeline. */
  sequence: number;
  execution_id?: number;
  event_type: LifecycleKind;
  /** RFC 3339, the server's time. */
  occurred_at: string;
  payload?: Record<string, unknown>;
}

const TIMELINE_KINDS: ReadonlySet<string> = new Set(LIFECYCLE_KINDS);

export function projectTimeline(events: readonly RunEvent[]): TimelineEvent[] {
  return events.flatMap((event) => (isLifecycle(event) ? [toTimelineEvent(event)] : []));
}

const isLifecycle = (event: RunEvent): event is RunEvent & { kind: LifecycleKind } => TIMELINE_KINDS.has(event.kind);

function toTimelineEvent(event: RunEvent & { kind: LifecycleKind }): TimelineEvent {
  // The log takes what runners send: their data need not be an object.
  const masked = maskSecrets(event.data);
  const payload = typeof masked === 'object' && masked !== null && !Array.isArray(masked) ? masked : {};
  return {
    event_uuid: eventUuid(event.run_id, event.seq),
    run_id: event.run_id,
    sequence: event.seq,
    ...(event.execution_id === null ? {} : { execution_id: Number(event.execution_id) }),
    event_type: event.kind,
    occurred_at: event.at.toISOString(),
    ...(Object.keys(payload).length === 0 ? {} : { payload: payload as Record<string, unknown> }),
  };
}

/** The log's key is (run, sequence number); the wire wants a UUID: version 8 made of a hash of the two. */
function eventUuid(runId: string, seq: number): string {
  const bytes = createHash('sha256')
    .update(`headrace/run-event/${runId.toLowerCase()}/${seq}`)
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
