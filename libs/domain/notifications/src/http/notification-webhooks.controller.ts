import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller, isAllowed } from '#platform/auth';
import { Operation, pageInfo, pathId, unwrap } from '#platform/http';
import { NotificationWebhooksService } from '../application/notification-webhooks.service.js';
import { DEFAULT_EVENTS, type NotificationWebhook } from '../domain/notification-webhook.js';
import {
  CreateNotificationWebhookRequest,
  ListNotificationDeliveriesParameters,
  ListNotificationDeliveriesResponse,
  ListNotificationWebhooksResponse,
  NotificationDelivery,
  NotificationWebhookItem,
  UpdateNotificationWebhookRequest,
} from './notification-webhook.dto.js';
import { NOTIFICATION_WEBHOOK, presentDelivery, presentWebhook } from './notification-presenter.js';

const RESOURCE = 'notification webhook';
const DEFAULT_LIMIT = 20;
const Uid = (): ParameterDecorator => Param('uid', pathId('uid'));

const mayManage = (caller: Caller, { teamUid }: NotificationWebhook): boolean =>
  isAllowed(caller, { teamUid, userUid: null }, 'notifications:manage');

@ApiTags('Notifications')
@Controller('notification-webhooks')
export class NotificationWebhooksController {
  constructor(private readonly webhooks: NotificationWebhooksService) {}

  @Get()
  @Authorize('notifications:read')
  @Operation({
    id: 'listNotificationWebhooks',
    summary: 'List notification webhooks',
    description:
      'The notification webhooks of the team, by name. Without the team header those of all teams of the caller, at most 1,000.',
    team: true,
    success: { status: 200, description: 'The webhooks.', type: ListNotificationWebhooksResponse },
    errors: [403],
  })
  async listNotificationWebhooks(@CurrentCaller() caller: Caller): Promise<ListNotificationWebhooksResponse> {
    const webhooks = await this.webhooks.list(caller);
    return { notification_webhooks: webhooks.map((webhook) => presentWebhook(webhook, mayManage(caller, webhook))) };
  }

  @Post()
  @Authorize('notifications:manage')
  @Audited('notification_webhook.created', { values: ['format', 'events', 'enabled', 'decisions'] })
  @Operation({
    id: 'createNotificationWebhook',
    summary: 'Create a notification webhook',
    description:
      'Messages about the runs of the team are posted to the URL, signed by Standard Webhooks with `secret`, which is returned only once. Failed messages are retried for about two days. A team has at most 20 notification webhooks.',
    team: true,
    request: { value: { name: 'deploys', url: 'https://hooks.example.com/headrace' } },
    success: { status: 201, description: 'The webhook, with its secret.', type: NotificationWebhookItem },
    errors: [400, 403, 'limit_reached'],
  })
  async createNotificationWebhook(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateNotificationWebhookRequest,
  ): Promise<NotificationWebhookItem> {
    const { name, url, format, events = [...DEFAULT_EVENTS], filter = null, enabled = true } = body;
    const { decisions = false } = body;
    const fields = { name, url, events, filter, enabled, decisions, ...(format !== undefined && { format }) };
    const result = await this.webhooks.create(caller, fields);
    const { webhook, secret } = unwrap(result, NOTIFICATION_WEBHOOK);
    return presentWebhook(webhook, true, secret);
  }

  @Get(':uid')
  @Authorize('notifications:read', RESOURCE)
  @Operation({
    id: 'getNotificationWebhook',
    summary: 'Get a notification webhook',
    success: { status: 200, description: 'The webhook.', type: NotificationWebhookItem },
  })
  async getNotificationWebhook(@CurrentCaller() caller: Caller, @Uid() uid: string): Promise<NotificationWebhookItem> {
    const { webhook } = unwrap(await this.webhooks.get(caller, uid), NOTIFICATION_WEBHOOK);
    return presentWebhook(webhook, mayManage(caller, webhook));
  }

  @Put(':uid')
  @Authorize('notifications:manage', RESOURCE)
  @Audited('notification_webhook.updated', { values: ['format', 'events', 'enabled', 'decisions'] })
  @Operation({
    id: 'updateNotificationWebhook',
    summary: 'Update a notification webhook',
    description:
      'Omitted fields keep their values. Disabling drops the pending messages. Buttons of earlier messages are not valid any more when `decisions`, `enabled` or `url` changes.',
    request: { value: { events: ['run.failed'] } },
    success: { status: 200, description: 'The updated webhook.', type: NotificationWebhookItem },
  })
  async updateNotificationWebhook(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
    @Body() body: UpdateNotificationWebhookRequest,
  ): Promise<NotificationWebhookItem> {
    const { webhook } = unwrap(await this.webhooks.update(caller, uid, body), NOTIFICATION_WEBHOOK);
    return presentWebhook(webhook, true);
  }

  @Delete(':uid')
  @Authorize('notifications:manage', RESOURCE)
  @Audited('notification_webhook.deleted')
  @Operation({
    id: 'deleteNotificationWebhook',
    summary: 'Delete a notification webhook',
    description: 'Deletes the notification webhook and its deliveries. Pending messages are not sent.',
    success: { status: 204, description: 'Deleted.' },
  })
  async deleteNotificationWebhook(@CurrentCaller() caller: Caller, @Uid() uid: string): Promise<void> {
    unwrap(await this.webhooks.delete(caller, uid), NOTIFICATION_WEBHOOK);
  }

  @Get(':uid/deliveries')
  @Authorize('notifications:read', RESOURCE)
  @Operation({
    id: 'listNotificationDeliveries',
    summary: 'List notification deliveries',
    description:
      'Newest first, with every attempt. Finished deliveries are kept for a limited time (`NOTIFY_LOG_RETENTION`).',
    success: { status: 200, description: 'A page of deliveries.', type: ListNotificationDeliveriesResponse },
  })
  async listNotificationDeliveries(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
    @Query() { limit = DEFAULT_LIMIT, cursor }: ListNotificationDeliveriesParameters,
  ): Promise<ListNotificationDeliveriesResponse> {
    const result = await this.webhooks.listDeliveries(caller, uid, limit, cursor ?? null);
    const { webhook, items, nextCursor } = unwrap(result, NOTIFICATION_WEBHOOK);
    const isManager = mayManage(caller, webhook);
    return {
      deliveries: items.map((delivery) => presentDelivery(delivery, isManager)),
      page_info: pageInfo(nextCursor),
    };
  }

  @Post(':uid/test')
  @Authorize('notifications:manage', RESOURCE)
  @Audited('notification_webhook.tested')
  @Operation({
    id: 'testNotificationWebhook',
    summary: 'Test a notification webhook',
    description:
      'Sends a message of type `webhook.test`, also to a disabled webhook, with one attempt. The result is in its deliveries.',
    success: { status: 202, description: 'The delivery; it is sent asynchronously.', type: NotificationDelivery },
    errors: [400, 403, 404, 409],
  })
  async testNotificationWebhook(@CurrentCaller() caller: Caller, @Uid() uid: string): Promise<NotificationDelivery> {
    return presentDelivery(unwrap(await this.webhooks.test(caller, uid), NOTIFICATION_WEBHOOK).delivery, true);
  }

  @Post(':uid/rotate-secret')
  @Authorize('notifications:manage', RESOURCE)
  @Audited('notification_webhook.secret_rotated')
  @Operation({
    id: 'rotateNotificationWebhookSecret',
    summary: 'Rotate a notification webhook secret',
    description:
      'The secret is returned only once. For 24 hours messages carry a second signature, with the previous secret. Buttons of earlier messages are not valid any more.',
    success: { status: 200, description: 'The webhook, with its new secret.', type: NotificationWebhookItem },
  })
  async rotateNotificationWebhookSecret(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
  ): Promise<NotificationWebhookItem> {
    const { webhook, secret } = unwrap(await this.webhooks.rotateSecret(caller, uid), NOTIFICATION_WEBHOOK);
    return presentWebhook(webhook, true, secret);
  }
}
