import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#platform/config';
import { maskSecrets } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { type RunChange, RunStateListeners, RunStateListener } from '#execution/executions';
import type { RunState } from '#domain/runs';
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

/** Writes the messages about a run in the transaction that changes its state: both are committed, or neither. */
@Injectable()
export class NotificationOutbox extends RunStateListener implements OnModuleInit {
  constructor(
    private readonly transitions: RunStateListeners,
    private readonly store: OutboxStore,
    private readonly nudge: DeliveryNudge,
    private readonly settings: Settings,
  ) {
    super();
  }

  onModuleInit(): void {
    this.transitions.register(this);
  }

  override async record(tx: Queryable, runId: string, changes: readonly RunChange[]): Promise<void> {
    const notices = changes.flatMap(({ state, approval }) => {
      const type = EVENT_OF[state];
      return type === undefined
        ? []
        : [{ type, state, ...(approval === undefined ? {} : { approval: shown(approval) }) }];
    });
    // The wake-up may precede the commit, or be followed by a rollback; the poll finds what it missed.
    if ((await this.store.add(tx, runId, notices, `${this.settings.publicUrl}/runs/`)) > 0) this.nudge.nudge();
  }
}

/** The title is text of the agent, so credentials in it are masked. */
const shown = ({
  approval_id,
  title,
  expires_at,
}: NonNullable<RunChange['approval']>): Readonly<Record<string, unknown>> => ({
  approval_id,
  title: maskSecrets(title),
  expires_at,
});
