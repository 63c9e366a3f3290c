import type { Type } from '@nestjs/common';
import { IdentitiesPlace, McpServersPlace } from '#domain/agents';
import { AutomationsPlace } from '#domain/automations';
import { NotificationWebhooksPlace } from '#domain/notifications';
import { RunsPlace } from '#domain/runs';
import { SchedulesPlace } from '#domain/schedules';
import { ManagedSecretsPlace, type SealedPlace } from '#platform/secrets';
import { WebhooksPlace } from '#domain/webhooks';

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
