import { performance } from 'node:perf_hooks';
import type { WebSocket } from 'ws';
import { CLOSE_CODES, type ServerFrame } from '#execution/worker-protocol';
import type { KeyedSemaphore } from '#platform/kernel';
import type { WorkerSession } from '../application/worker-session.js';
import type { WorkerRef } from '../domain/worker.js';
import { FrameInbox } from './frame-inbox.js';
import type { DropReason, WorkerMetrics } from './worker-metrics.js';

/** Unread bytes in the send buffer; four of the largest frames. */
const MAX_BUFFERED_BYTES = 4 * 1_048_576;
/** How long the worker may take to answer a close frame. */
const CLOSE_GRACE_MS = 2_000;

const REASONS: Readonly<Record<DropReason, string>> = {
  silent: 'There was no sign of life for too long.',
  malformed: 'A frame is one JSON object with a type, as text.',
  too_many_frames: 'Too many frames.',
  slow_reader: 'What was sent is not being read.',
  token_ended: 'The token is no longer valid.',
  superseded: 'The worker has another connection.',
};

export class WorkerConnection {
  readonly inbox: FrameInbox;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<unknown>;
  private ending = false;
  private held = false;
  private pingedAt: number;

  constructor(
    private readonly socket: WebSocket,
    readonly session: WorkerSession,
    /** Uid of the token that authenticated it. */
    readonly tokenUid: string,
    private readonly metrics: WorkerMetrics,
    semaphore: KeyedSemaphore,
    failed: (what: string, error: unknown) => void,
  ) {
    this.pingedAt = session.seenAt;
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    const owner = { failed, isOpen: () => this.isOpen, hold: () => this.hold(), resume: () => this.resume() };
    this.inbox = new FrameInbox(owner, semaphore);
  }

  get ref(): WorkerRef {
    return this.session.ref;
  }

  get isOpen(): boolean {
    return !this.ending && this.socket.readyState === this.socket.OPEN;
  }

  send(frame: ServerFrame): boolean {
    if (!this.isOpen) return false;
    this.socket.send(JSON.stringify(frame));
    this.metrics.frames.inc({ direction: 'out', type: frame.type });
    return this.readsWell();
  }

  /** Milliseconds since its last frame; 0 while reading is paused. */
  silentFor(now: number): number {
    return this.held ? 0 : now - this.session.seenAt;
  }

  ping(everyMs: number): void {
    const now = performance.now();
    if (!this.isOpen || now - this.pingedAt < everyMs) return;
    this.pingedAt = now;
    this.socket.ping();
    this.readsWell();
  }

  drop(reason: DropReason): void {
    if (this.ending) return;
    this.metrics.drops.inc({ reason });
    // The worker does not read: a close frame would wait behind the unread bytes.
    if (reason === 'silent' || reason === 'slow_reader') this.destroy();
    else this.close(CLOSE_CODES.policyViolation, REASONS[reason]);
  }

  close(code: number, reason: string): void {
    if (this.ending) return;
    this.ending = true;
    this.socket.close(code, reason);
    const timer = setTimeout(() => this.socket.terminate(), CLOSE_GRACE_MS);
    this.socket.once('close', () => clearTimeout(timer));
    this.socket.resume();
  }

  destroy(): void {
    this.ending = true;
    this.socket.terminate();
  }

  private readsWell(): boolean {
    if (this.socket.bufferedAmount <= MAX_BUFFERED_BYTES) return true;
    this.drop('slow_reader');
    return false;
  }

  /** Pauses reading. Silence during the pause does not count. */
  private hold(): void {
    this.held = true;
    this.socket.pause();
  }

  private resume(): void {
    this.held = false;
    this.session.seenAt = performance.now();
    this.socket.resume();
  }
}
