import { Body, Controller, Delete, Get, Param, Post, Put } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller, hasPermission } from '#platform/auth';
import { Operation, pathId } from '#platform/http';
import { CreateWebhook, DeleteWebhook, FindWebhooks, UpdateWebhook } from '../application/webhooks.js';
import { DEFAULT_EVENTS, type NotificationWebhook } from '../domain/notification-webhook.js';
import { presentWebhook } from './presenters.js';
import { refusal } from './refusals.js';
import {
  CreateNotificationWebhookRequest,
  ListNotificationWebhooksResponse,
  NotificationWebhookItem,
  UpdateNotificationWebhookRequest,
} from './webhook.dto.js';

const TAG = 'Notifications';

const present = (caller: Caller, webhook: NotificationWebhook): NotificationWebhookItem =>
  presentWebhook(webhook, { mayManage: hasPermission(caller, webhook.teamUid, 'notifications:manage') });

@Controller('notification-webhooks')
export class NotificationWebhooksController {
  constructor(
    private readonly find: FindWebhooks,
    private readonly create: CreateWebhook,
    private readonly update: UpdateWebhook,
    private readonly remove: DeleteWebhook,
  ) {}

  @Get()
  @Authorize('notifications:read')
  @Operation({
    id: 'listNotificationWebhooks',
    summary: 'List notification webhooks',
    description: 'Those of the team, by name; without the team header, of all teams of the caller, 1,000 at most.',
    tag: TAG,
    team: true,
    success: { status: 200, description: 'The webhooks.', type: ListNotificationWebhooksResponse },
    errors: [403],
  })
  async listNotificationWebhooks(@CurrentCaller() caller: Caller): Promise<ListNotificationWebhooksResponse> {
    const webhooks = await this.find.list(caller);
    return { notification_webhooks: webhooks.map((webhook) => present(caller, webhook)) };
  }

  @Post()
  @Authorize('notifications:manage')
  @Operation({
    id: 'createNotificationWebhook',
    summary: 'Have the team’s runs reported to an address',
    description:
      'Messages are signed by Standard Webhooks with `secret`, which is told this once. What fails is sent again for about two days. A team has at most 20. Needs the role admin or owner.',
    tag: TAG,
    team: true,
    request: { value: { name: 'deploys', url: 'https://hooks.example.com/headrace' } },
    success: { status: 201, description: 'The webhook, with its secret.', type: NotificationWebhookItem },
    errors: [400, 403, 'limit_reached', 413, 415],
  })
  async createNotificationWebhook(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateNotificationWebhookRequest,
  ): Promise<NotificationWebhookItem> {
    const { name, url, events = [...DEFAULT_EVENTS], enabled = true } = body;
    const result = await this.create.execute(caller, { name, url, events, enabled });
    if (result.kind !== 'created') throw refusal(result);
    return presentWebhook(result.webhook, { mayManage: true, secret: result.secret });
  }

  @Get(':uid')
  @Authorize('notifications:read')
  @Operation({
    id: 'getNotificationWebhook',
    summary: 'Get a notification webhook',
    tag: TAG,
    success: { status: 200, description: 'The webhook.', type: NotificationWebhookItem },
    errors: [400, 403, 404],
  })
  async getNotificationWebhook(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<NotificationWebhookItem> {
    const lookup = await this.find.find(caller, uid, 'notifications:read');
    if (lookup.kind !== 'found') throw refusal(lookup);
    return present(caller, lookup.webhook);
  }

  // Reading suffices here and below: the role that counts is that on the webhook's team, which the use case knows.
  @Put(':uid')
  @Authorize('notifications:read')
  @Operation({
    id: 'updateNotificationWebhook',
    summary: 'Change a notification webhook',
    description:
      'What is left out stays as it is. Disabling drops the messages that wait. Needs the role admin or owner.',
    tag: TAG,
    request: { value: { events: ['run.failed'] } },
    success: { status: 200, description: 'The webhook as it is now.', type: NotificationWebhookItem },
    errors: [400, 403, 404, 413, 415],
  })
  async updateNotificationWebhook(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { name, url, events, enabled }: UpdateNotificationWebhookRequest,
  ): Promise<NotificationWebhookItem> {
    const result = await this.update.execute(caller, uid, {
      ...(name !== undefined && { name }),
      ...(url !== undefined && { url }),
      ...(events !== undefined && { events }),
      ...(enabled !== undefined && { enabled }),
    });
    if (result.kind !== 'updated') throw refusal(result);
    return present(caller, result.webhook);
  }

  @Delete(':uid')
  @Authorize('notifications:read')
  @Operation({
    id: 'deleteNotificationWebhook',
    summary: 'Remove a notification webhook',
    description: 'With its deliveries; what waits is not sent. Needs the role admin or owner.',
    tag: TAG,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404],
  })
  async deleteNotificationWebhook(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<void> {
    const result = await this.remove.execute(caller, uid);
    if (result.kind !== 'deleted') throw refusal(result);
  }
}
