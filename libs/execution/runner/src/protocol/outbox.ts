import { toStorableJson, type Clock } from '#platform/kernel';
import type { BatchAck, RunnerEvent, RunnerEventKind } from '#execution/runner-protocol';
import { retry } from '../retry.js';
import { EventRedactor, coalesce, type PlainEvent, OutputLimit } from './outgoing-events.js';
import type { Redactor } from '../redaction/redactor.js';
import { againUnless, NoResponseError } from './control-plane.js';
import { jsonBytes, shrinkJson } from './shrink.js';

export interface OutboxOptions {
  /** Sends events as JSON; rejects with NoResponseError when it can be retried. */
  readonly send: (eventsJson: readonly string[]) => Promise<BatchAck>;
  readonly onAck: (ack: BatchAck) => void;
  /** Sending has ended: the lease is lost or the events are rejected. */
  readonly onFailure: (error: unknown) => void;
  readonly clock: Clock;
  readonly maxOutputBytes: number;
  readonly redactor: Redactor;
  readonly onSealed?: ((event: RunnerEvent) => void) | undefined;
  readonly signal: AbortSignal;
}

const MAX_WAIT_MS = 250;
/** Nobody waits for them, and they are usually followed by others. */
const PATIENT: ReadonlySet<RunnerEventKind> = new Set(['sandbox_ready']);
const PATIENT_WAIT_MS = 1000;
const BATCH_BYTES = 65_536;
const BATCH_EVENTS = 400;
const MAX_EVENT_BYTES = 393_216;
/** Sent at once, because people or the control plane wait for them. */
const URGENT: ReadonlySet<RunnerEventKind> = new Set([
  'agent_started',
  'permission_requested',
  'turn_started',
  'turn_ended',
]);
/** The first of them in a turn is sent at once: people wait for a sign of the agent. */
const SIGNS: ReadonlySet<RunnerEventKind> = new Set(['message_chunk', 'thought_chunk', 'tool_call', 'plan']);

/**
 * Sends events in order until they are acknowledged. An event that was part of a request is sealed: its number and bytes
 * never change, so that a repeated batch changes nothing. Before that, neighbours may be merged.
 */
export class Outbox {
  private pending: { event: PlainEvent; at: string; bytes: number }[] = [];
  private pendingBytes = 0;
  private sealed: { readonly seq: number; readonly json: string }[] = [];
  private nextSeq = 1;
  private timer: NodeJS.Timeout | undefined;
  /** On `performance.now()`. */
  private dueAt = 0;
  private awaitsSign = false;
  private sending = false;
  private failed = false;
  private waiters: (() => void)[] = [];
  private readonly limit: OutputLimit;
  private readonly redaction: EventRedactor;

  constructor(private readonly options: OutboxOptions) {
    this.limit = new OutputLimit(options.maxOutputBytes);
    this.redaction = new EventRedactor(options.redactor);
  }

  push<T extends object>(kind: RunnerEventKind, data: T): void {
    for (const event of this.redaction.redact({ kind, data: { ...data } as Record<string, unknown> }))
      this.admit(event);
    const isSign = this.awaitsSign && SIGNS.has(kind);
    if (kind === 'turn_started' || isSign) this.awaitsSign = !isSign;
    if (isSign || URGENT.has(kind) || this.pendingBytes >= BATCH_BYTES) this.sendSoon(0);
    else this.sendSoon(PATIENT.has(kind) ? PATIENT_WAIT_MS : MAX_WAIT_MS);
  }

  /** Resolves when all events are acknowledged, or sending has failed permanently. */
  async flush(): Promise<void> {
    for (const event of this.redaction.release()) this.admit(event);
    while (!this.failed && !this.options.signal.aborted && (this.pending.length > 0 || this.sealed.length > 0)) {
      const settled = new Promise<void>((resolve) => this.waiters.push(resolve));
      this.sendSoon(0);
      await settled;
    }
  }

  private admit({ kind, data }: PlainEvent): void {
    const { value, changed } = toStorableJson(data);
    const clean = { ...(value as Record<string, unknown>), ...(changed ? { sanitized: true } : {}) };
    const event = { kind, data: shrinkJson(clean, MAX_EVENT_BYTES) as Record<string, unknown> };
    for (const admitted of this.limit.admit(event)) this.append(admitted);
  }

  private append(event: PlainEvent): void {
    const last = this.pending.at(-1);
    const merged = last ? coalesce(last.event, event) : null;
    if (last && merged && last.bytes < BATCH_BYTES / 2) {
      const bytes = jsonBytes(merged.data);
      this.pendingBytes += bytes - last.bytes;
      this.pending[this.pending.length - 1] = { event: merged, at: last.at, bytes };
      return;
    }
    const bytes = jsonBytes(event.data);
    this.pendingBytes += bytes;
    this.pending.push({ event, at: this.options.clock.now().toISOString(), bytes });
  }

  private sendSoon(ms: number): void {
    if (this.sending || this.failed) return;
    const dueAt = performance.now() + ms;
    if (this.timer !== undefined && this.dueAt <= dueAt) return;
    clearTimeout(this.timer);
    this.dueAt = dueAt;
    this.timer = setTimeout(() => void this.sendAll(), ms);
  }

  private async sendAll(): Promise<void> {
    this.timer = undefined;
    if (this.sending) return;
    this.sending = true;
    try {
      do {
        this.seal();
        await this.sendSealed();
        this.wakeWaiters();
      } while (this.pendingBytes >= BATCH_BYTES);
    } catch (error) {
      this.failed = true;
      this.options.onFailure(error);
    } finally {
      this.sending = false;
      this.wakeWaiters();
    }
    if (this.pending.length > 0) this.sendSoon(MAX_WAIT_MS);
  }

  private seal(): void {
    let bytes = 0;
    while (this.sealed.length < BATCH_EVENTS && bytes < BATCH_BYTES) {
      const next = this.pending.shift();
      if (!next) break;
      const seq = this.nextSeq;
      this.nextSeq += 1;
      bytes += next.bytes;
      this.pendingBytes -= next.bytes;
      const { kind, data } = next.event;
      const event: RunnerEvent = { source_seq: seq, kind, at: next.at, data };
      this.sealed.push({ seq, json: JSON.stringify(event) });
      this.options.onSealed?.(event);
    }
  }

  private async sendSealed(): Promise<void> {
    const { signal, send, onAck } = this.options;
    const sendOnce = async (): Promise<void> => {
      signal.throwIfAborted();
      const ack = await send(this.sealed.map(({ json }) => json));
      const before = this.sealed.length;
      this.sealed = this.sealed.filter(({ seq }) => seq > ack.acked_seq);
      onAck(ack);
      if (this.sealed.length === before) throw new NoResponseError('No event was acknowledged.');
    };
    const options = { firstMs: 100, maxMs: 2_000, signal, again: againUnless(signal) };
    while (this.sealed.length > 0) await retry(sendOnce, options);
  }

  private wakeWaiters(): void {
    for (const wake of this.waiters.splice(0)) wake();
  }
}
