import { Settings } from '#platform/config';
import { BackgroundTasks } from '#platform/jobs';
import { maskSecrets } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { Extension } from '#platform/plugins';
import { type RunChange, RunStateListener } from '#execution/executions';
import type { RunState } from '#domain/runs';
import type { NotificationEvent } from '../domain/notification-webhook.js';
import { NotificationDeliveriesStore } from '../persistence/notification-deliveries.store.js';
import { SEND_NOTIFICATIONS_TASK } from './notification-tasks.js';

const EVENT_OF: Readonly<Partial<Record<RunState, NotificationEvent>>> = {
  SUCCEEDED: 'run.succeeded',
  FAILED: 'run.failed',
  ERROR: 'run.errored',
  CANCELLED: 'run.cancelled',
  BLOCKED: 'run.blocked',
};

/** Writes the messages about a run in the transaction that changes its state: both are committed, or neither. */
@Extension()
export class NotificationOutbox extends RunStateListener {
  constructor(
    private readonly deliveries: NotificationDeliveriesStore,
    private readonly tasks: BackgroundTasks,
    private readonly settings: Settings,
  ) {
    super();
  }

  override async record(tx: Queryable, runId: string, changes: readonly RunChange[]): Promise<void> {
    const { publicUrl } = this.settings;
    const notices = changes.flatMap(({ state, approval }) => {
      const type = EVENT_OF[state];
      return type === undefined
        ? []
        : [{ type, state, ...(approval && { approval: shown(approval, runId, publicUrl) }) }];
    });
    const count = await this.deliveries.insert(tx, runId, notices, `${publicUrl}/runs/`);
    // The wake-up may precede the commit, or be followed by a rollback; the poll finds what it missed.
    if (count > 0) this.tasks.wake(SEND_NOTIFICATIONS_TASK);
  }
}

/** The title is text of the agent, so credentials in it are masked. Other fields are not shown. */
const shown = (
  { approval_id, kind, title, expires_at }: NonNullable<RunChange['approval']>,
  runId: string,
  publicUrl: string,
) => ({
  approval_id,
  ...(kind === 'question' && { kind }),
  title: maskSecrets(title),
  expires_at,
  link: `${publicUrl}/console/inbox?item=${runId}/${approval_id}`,
});
