import type { Type } from '@nestjs/common';
import { IdentitiesPlace, McpServersPlace } from '#libs/agents';
import { AutomationsPlace } from '#libs/automations';
import { NotificationWebhooksPlace } from '#libs/notifications';
import { RunsPlace } from '#libs/runs';
import { SchedulesPlace } from '#libs/schedules';
import { ManagedSecretsPlace, type SealedPlace } from '#libs/secrets';
import { WebhooksPlace } from '#libs/webhooks';

/** Every table that holds sealed values: one that is missing here is lost when the key is changed. */
export const SEALED_PLACES: readonly Type<SealedPlace>[] = [
  ManagedSecretsPlace,
  WebhooksPlace,
  NotificationWebhooksPlace,
  McpServersPlace,
  IdentitiesPlace,
  RunsPlace,
  AutomationsPlace,
  SchedulesPlace,
];
