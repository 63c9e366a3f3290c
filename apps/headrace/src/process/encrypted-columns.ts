import { AGENTS_ENCRYPTED_COLUMNS } from '#domain/agents';
import { AUTOMATIONS_ENCRYPTED_COLUMNS } from '#domain/automations';
import { NOTIFICATIONS_ENCRYPTED_COLUMNS } from '#domain/notifications';
import { RUNS_ENCRYPTED_COLUMNS } from '#domain/runs';
import { SCHEDULES_ENCRYPTED_COLUMNS } from '#domain/schedules';
import { WEBHOOKS_ENCRYPTED_COLUMNS } from '#domain/webhooks';
import { EXECUTIONS_ENCRYPTED_COLUMNS } from '#execution/executions';
import { type EncryptedColumn, MANAGED_SECRET } from '#platform/secrets';

/** Every encrypted column: the values of one that is missing here are lost when the key is changed. */
export const ENCRYPTED_COLUMNS: readonly EncryptedColumn[] = [
  MANAGED_SECRET,
  ...WEBHOOKS_ENCRYPTED_COLUMNS,
  ...NOTIFICATIONS_ENCRYPTED_COLUMNS,
  ...AGENTS_ENCRYPTED_COLUMNS,
  ...RUNS_ENCRYPTED_COLUMNS,
  ...AUTOMATIONS_ENCRYPTED_COLUMNS,
  ...SCHEDULES_ENCRYPTED_COLUMNS,
  ...EXECUTIONS_ENCRYPTED_COLUMNS,
];
