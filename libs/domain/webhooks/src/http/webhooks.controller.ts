import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { FactoryAccess, managedFactory } from '#domain/factories';
import { Operation, pathId } from '#platform/http';
import { CreateWebhook } from '../application/create-webhook.js';
import { FindWebhooks } from '../application/find-webhooks.js';
import { CreateWebhookRequest, ListWebhooksResponse, WebhookItem } from './webhook.dto.js';
import { WebhookPresenter } from './webhook-presenter.js';
import { webhookRefusal } from './webhook-refusals.js';

const TAG = 'Webhooks';

/** Reading suffices at the door: the role that counts is that on the factory's team, which `FactoryAccess` knows. */
@Controller('factories/:factoryUid/webhooks')
export class WebhooksController {
  constructor(
    private readonly access: FactoryAccess,
    private readonly find: FindWebhooks,
    private readonly create: CreateWebhook,
    private readonly presenter: WebhookPresenter,
  ) {}

  @Get()
  @Authorize('factories:read')
  @Operation({
    id: 'listWebhooks',
    summary: 'List the webhooks of a factory',
    description: 'By name. Needs the role admin or owner, as everything here.',
    tag: TAG,
    success: { status: 200, description: 'The webhooks.', type: ListWebhooksResponse },
    errors: [400, 403, 404],
  })
  async listWebhooks(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
  ): Promise<ListWebhooksResponse> {
    const webhooks = await this.find.list(await managedFactory(this.access, caller, factoryUid));
    return { webhooks: webhooks.map((webhook) => this.presenter.present(webhook)) };
  }

  @Post()
  @Authorize('factories:read')
  @Operation({
    id: 'createWebhook',
    summary: 'Give a sender an address to post to',
    description:
      'The secret is told this once. In `signature` mode without a secret, `standard_webhooks` gets a generated one; a sender whose handshake brings the secret is waited for (`secret_pending`); every other webhook stays disabled until rotate-secret supplies the sender’s secret. A factory has at most 20.',
    tag: TAG,
    request: { value: { name: 'deploys' } },
    success: { status: 201, description: 'The webhook, with its secret.', type: WebhookItem },
    errors: [400, 403, 'limit_reached', 404, 413, 415],
  })
  async createWebhook(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Body() body: CreateWebhookRequest,
  ): Promise<WebhookItem> {
    const result = await this.create.execute(await managedFactory(this.access, caller, factoryUid), {
      name: body.name,
      authMode: body.auth_mode ?? 'token',
      signatureScheme: body.signature_scheme ?? null,
      secret: body.secret ?? null,
      secretName: body.secret_name ?? null,
      deliveryIdHeader: body.delivery_id_header ?? null,
      enabled: body.enabled ?? true,
    });
    if (result.kind !== 'created') throw webhookRefusal(result);
    const { webhook, secret } = result;
    return this.presenter.present(webhook, secret === null ? {} : { secret });
  }

  @Get(':uid')
  @Authorize('factories:read')
  @Operation({
    id: 'getWebhook',
    summary: 'Get a webhook',
    tag: TAG,
    success: { status: 200, description: 'The webhook.', type: WebhookItem },
    errors: [400, 403, 404],
  })
  async getWebhook(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<WebhookItem> {
    const details = await this.find.find(await managedFactory(this.access, caller, factoryUid), uid);
    if (!details) throw webhookRefusal({ kind: 'unknown' });
    const { webhook, capturedSecret } = details;
    return this.presenter.present(webhook, capturedSecret === null ? {} : { captured: capturedSecret });
  }
}
