import { Body, Controller, Delete, Param, Patch, Post } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { FactoryAccess, managedFactory } from '#domain/factories';
import { Operation, pathId } from '#platform/http';
import { DeleteWebhook } from '../application/delete-webhook.js';
import { RotateWebhookSecret } from '../application/rotate-secret.js';
import { UpdateWebhook } from '../application/update-webhook.js';
import { RotateWebhookSecretRequest, UpdateWebhookRequest, WebhookItem } from './webhook.dto.js';
import { WebhookPresenter } from './webhook-presenter.js';
import { webhookRefusal } from './webhook-refusals.js';

const TAG = 'Webhooks';

/** Reading suffices at the door: the role that counts is that on the factory's team, which `FactoryAccess` knows. */
@Controller('factories/:factoryUid/webhooks/:uid')
export class WebhookChangesController {
  constructor(
    private readonly access: FactoryAccess,
    private readonly update: UpdateWebhook,
    private readonly rotate: RotateWebhookSecret,
    private readonly remove: DeleteWebhook,
    private readonly presenter: WebhookPresenter,
  ) {}

  @Patch()
  @Authorize('factories:read')
  @Operation({
    id: 'updateWebhook',
    summary: 'Change a webhook',
    description: 'What is left out stays as it is. The name of one from a definition cannot be changed here.',
    tag: TAG,
    request: { value: { name: 'releases' } },
    success: { status: 200, description: 'The webhook as it is now.', type: WebhookItem },
    errors: [400, 403, 404, 413, 415, 422],
  })
  async updateWebhook(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { name, enabled, delivery_id_header: deliveryIdHeader }: UpdateWebhookRequest,
  ): Promise<WebhookItem> {
    const result = await this.update.execute(await managedFactory(this.access, caller, factoryUid), uid, {
      ...(name !== undefined && { name }),
      ...(enabled !== undefined && { enabled }),
      ...(deliveryIdHeader !== undefined && { deliveryIdHeader }),
    });
    if (result.kind !== 'updated') throw webhookRefusal(result);
    return this.presenter.present(result.webhook);
  }

  @Post('rotate-secret')
  @Authorize('factories:read')
  @ApiBody({ type: RotateWebhookSecretRequest, required: false })
  @Operation({
    id: 'rotateWebhookSecret',
    summary: 'Give a webhook another secret, or its first',
    description:
      'It is told this once; the one before fails at once. It goes into the managed secret, so that other webhooks that use it follow. A webhook that lacked its sender’s secret is enabled by it, unless it was to be disabled. While `secret_pending`, a request without a secret confirms what the handshake brought. A webhook from a definition: change the managed secret and apply the definition.',
    tag: TAG,
    request: { value: {} },
    success: { status: 200, description: 'The webhook, with its new secret.', type: WebhookItem },
    errors: [400, 403, 404, 413, 415, 422],
  })
  async rotateWebhookSecret(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { secret }: RotateWebhookSecretRequest,
  ): Promise<WebhookItem> {
    const factory = await managedFactory(this.access, caller, factoryUid);
    const result = await this.rotate.execute(factory, uid, secret ?? null);
    if (result.kind !== 'rotated') throw webhookRefusal(result);
    return this.presenter.present(result.webhook, { secret: result.secret });
  }

  @Delete()
  @Authorize('factories:read')
  @Operation({
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Senders get 404 at once. Automations that select it stay, and are not started by it any more.',
    tag: TAG,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404],
  })
  async deleteWebhook(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<void> {
    const result = await this.remove.execute(await managedFactory(this.access, caller, factoryUid), uid);
    if (result.kind !== 'deleted') throw webhookRefusal(result);
  }
}
