import { Controller, Get, Param, Post, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller, hasPermission } from '#platform/auth';
import { Operation, pageInfo, pathId } from '#platform/http';
import { ListDeliveries, RotateSecret, TestWebhook } from '../application/webhook-care.js';
import { presentDelivery, presentWebhook } from './presenters.js';
import { refusal } from './refusals.js';
import {
  ListNotificationDeliveriesParameters,
  ListNotificationDeliveriesResponse,
  NotificationDelivery,
  NotificationWebhookItem,
} from './webhook.dto.js';

const TAG = 'Notifications';
const DEFAULT_LIMIT = 20;

/** Reading suffices at the door: the role that counts is that on the webhook's team, which the use case knows. */
@Controller('notification-webhooks/:uid')
export class NotificationWebhookCareController {
  constructor(
    private readonly deliveries: ListDeliveries,
    private readonly test: TestWebhook,
    private readonly rotate: RotateSecret,
  ) {}

  @Get('deliveries')
  @Authorize('notifications:read')
  @Operation({
    id: 'listNotificationDeliveries',
    summary: 'List what was sent to a notification webhook',
    description: 'With every attempt and what waits. Ended ones are kept for a time (`NOTIFY_LOG_RETENTION`).',
    tag: TAG,
    success: { status: 200, description: 'A page.', type: ListNotificationDeliveriesResponse },
    errors: [400, 403, 404],
  })
  async listNotificationDeliveries(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Query() { limit = DEFAULT_LIMIT, cursor }: ListNotificationDeliveriesParameters,
  ): Promise<ListNotificationDeliveriesResponse> {
    const result = await this.deliveries.execute(caller, uid, limit, cursor ?? null);
    if (result.kind !== 'page') throw refusal(result);
    const mayManage = hasPermission(caller, result.webhook.teamUid, 'notifications:manage');
    return {
      deliveries: result.deliveries.map((delivery) => presentDelivery(delivery, mayManage)),
      page_info: pageInfo(result.nextCursor),
    };
  }

  @Post('test')
  @Authorize('notifications:read')
  @Operation({
    id: 'testNotificationWebhook',
    summary: 'Send a test message',
    description:
      'One attempt, with type `webhook.test`, also to a webhook that is disabled. How it went is in its deliveries. Needs the role admin or owner.',
    tag: TAG,
    success: { status: 202, description: 'It will be sent in a moment.', type: NotificationDelivery },
    errors: [400, 403, 404, 409],
  })
  async testNotificationWebhook(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<NotificationDelivery> {
    const result = await this.test.execute(caller, uid);
    if (result.kind !== 'queued') throw refusal(result);
    return presentDelivery(result.delivery, true);
  }

  @Post('rotate-secret')
  @Authorize('notifications:read')
  @Operation({
    id: 'rotateNotificationWebhookSecret',
    summary: 'Give a notification webhook a new secret',
    description:
      'It is told this once. For 24 hours messages carry a second signature, with the secret before. Needs the role admin or owner.',
    tag: TAG,
    success: { status: 200, description: 'The webhook, with its new secret.', type: NotificationWebhookItem },
    errors: [400, 403, 404],
  })
  async rotateNotificationWebhookSecret(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<NotificationWebhookItem> {
    const result = await this.rotate.execute(caller, uid);
    if (result.kind !== 'rotated') throw refusal(result);
    return presentWebhook(result.webhook, { mayManage: true, secret: result.secret });
  }
}
