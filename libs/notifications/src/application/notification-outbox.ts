import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#libs/config';
import type { Queryable } from '#libs/persistence';
import { type RunState, RunTransitions, RunTransitionSink } from '#libs/runs';
import type { NotificationEvent } from '../domain/notification-webhook.js';
import { OutboxStore } from '../persistence/outbox.store.js';
import { DeliveryNudge } from './ports.js';

const EVENT_OF: Readonly<Partial<Record<RunState, NotificationEvent>>> = {
  SUCCEEDED: 'run.succeeded',
  FAILED: 'run.failed',
  ERROR: 'run.errored',
  CANCELLED: 'run.cancelled',
  BLOCKED: 'run.blocked',
};

/** Writes the messages about a run in the transaction that moves it: both are there, or neither. */
@Injectable()
export class NotificationOutbox extends RunTransitionSink implements OnModuleInit {
  constructor(
    private readonly transitions: RunTransitions,
    private readonly store: OutboxStore,
    private readonly nudge: DeliveryNudge,
    private readonly settings: Settings,
  ) {
    super();
  }

  onModuleInit(): void {
    this.transitions.register(this);
  }

  override async record(tx: Queryable, runId: string, states: readonly RunState[]): Promise<void> {
    const notices = states.flatMap((state) => {
      const type = EVENT_OF[state];
      return type === undefined ? [] : [{ type, state }];
    });
    // The nudge may come before the commit, or for one that never comes; the poll finds what it missed.
    if ((await this.store.add(tx, runId, notices, `${this.settings.publicUrl}/runs/`)) > 0) this.nudge.nudge();
  }
}
