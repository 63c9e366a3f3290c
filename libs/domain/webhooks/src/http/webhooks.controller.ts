import { Body, Controller, Delete, Get, Param, Patch, Post, Req } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { Authenticated, Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { FactoriesService, type Factory, inFactory, managedFactory } from '#domain/factories';
import { BodyLimit, MIB, Operation, pathId, SenderAddress, tooLarge, unwrap } from '#platform/http';
import { DeliveriesService } from '../application/deliveries.service.js';
import { WebhooksService } from '../application/webhooks.service.js';
import { TEST_PAYLOAD } from '../domain/delivery.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { MAX_TEST_PAYLOAD_BYTES, TestWebhookRequest, TestWebhookResponse } from './delivery.dto.js';
import {
  CreateWebhookRequest,
  ListSignatureSchemesResponse,
  ListWebhooksResponse,
  RotateWebhookSecretRequest,
  UpdateWebhookRequest,
  WebhookItem,
} from './webhook.dto.js';
import { WEBHOOK, WEBHOOK_DELIVERY, WebhookPresenter } from './webhook-presenter.js';

@ApiTags('Webhooks')
@Controller('factories/:factoryUid/webhooks')
export class WebhooksController {
  constructor(
    private readonly factories: FactoriesService,
    private readonly webhooks: WebhooksService,
    private readonly deliveries: DeliveriesService,
    private readonly addresses: SenderAddress,
    private readonly presenter: WebhookPresenter,
  ) {}

  @Get()
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'listWebhooks',
    summary: 'List webhooks of a factory',
    description: 'The webhooks of the factory, by name.',
    success: { status: 200, description: 'The webhooks.', type: ListWebhooksResponse },
  })
  async listWebhooks(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
  ): Promise<ListWebhooksResponse> {
    const webhooks = await this.webhooks.list(await this.factory(caller, factoryUid));
    return { webhooks: webhooks.map((webhook) => this.presenter.present(webhook)) };
  }

  @Post()
  @Authorize('factories:manage', 'factory')
  @Audited('webhook.created', { values: ['auth_mode', 'signature_scheme', 'enabled'] })
  @Operation({
    id: 'createWebhook',
    summary: 'Create a webhook',
    description:
      'The secret is returned only once. In `signature` mode without a secret, `standard_webhooks` gets a generated one; for a sender whose handshake brings the secret, the webhook waits (`secret_pending`); every other webhook is disabled until rotate-secret supplies the secret of the sender. A factory has at most 20 webhooks.',
    request: { value: { name: 'deploys' } },
    success: { status: 201, description: 'The webhook, with its secret.', type: WebhookItem },
    errors: [400, 403, 'limit_reached', 404],
  })
  async createWebhook(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Body() body: CreateWebhookRequest,
  ): Promise<WebhookItem> {
    const factory = await this.factory(caller, factoryUid);
    const request = {
      name: body.name,
      authMode: body.auth_mode ?? 'token',
      signatureScheme: body.signature_scheme ?? null,
      secret: body.secret ?? null,
      secretName: body.secret_name ?? null,
      deliveryIdHeader: body.delivery_id_header ?? null,
      enabled: body.enabled ?? true,
    };
    const result = await inFactory(() => this.webhooks.create(factory, request));
    const { webhook, secret } = unwrap(result, WEBHOOK);
    return this.presenter.present(webhook, secret);
  }

  @Get(':uid')
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'getWebhook',
    summary: 'Get a webhook',
    success: { status: 200, description: 'The webhook.', type: WebhookItem },
  })
  async getWebhook(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<WebhookItem> {
    const result = await this.webhooks.get(await this.factory(caller, factoryUid), uid);
    const { webhook, capturedSecret } = unwrap(result, WEBHOOK);
    return this.presenter.present(webhook, null, capturedSecret);
  }

  @Patch(':uid')
  @Authorize('factories:manage', 'factory')
  @Audited('webhook.updated', { values: ['enabled'] })
  @Operation({
    id: 'updateWebhook',
    summary: 'Update a webhook',
    description: 'Omitted fields keep their values. The name of a webhook from a definition cannot be changed here.',
    request: { value: { name: 'releases' } },
    success: { status: 200, description: 'The updated webhook.', type: WebhookItem },
    errors: [400, 403, 404, 422],
  })
  async updateWebhook(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { name, enabled, delivery_id_header: deliveryIdHeader }: UpdateWebhookRequest,
  ): Promise<WebhookItem> {
    const changes = { name, enabled, deliveryIdHeader };
    const result = await this.webhooks.update(await this.factory(caller, factoryUid), uid, changes);
    return this.presenter.present(unwrap(result, WEBHOOK).webhook);
  }

  @Post(':uid/rotate-secret')
  @Authorize('factories:manage', 'factory')
  @Audited('webhook.secret_rotated')
  @ApiBody({ type: RotateWebhookSecretRequest, required: false })
  @Operation({
    id: 'rotateWebhookSecret',
    summary: 'Rotate a webhook secret',
    description:
      'The secret is returned only once; the previous one is rejected immediately. It is stored in the managed secret, so that other webhooks that use the managed secret follow. A webhook without a secret is enabled by it, unless it was created disabled. While `secret_pending`, a request without a secret confirms the one that the handshake has brought. For a webhook from a definition, change the managed secret and apply the definition.',
    request: { value: {} },
    success: { status: 200, description: 'The webhook, with its new secret.', type: WebhookItem },
    errors: [400, 403, 404, 422],
  })
  async rotateWebhookSecret(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { secret }: RotateWebhookSecretRequest,
  ): Promise<WebhookItem> {
    const result = await this.webhooks.rotateSecret(await this.factory(caller, factoryUid), uid, secret ?? null);
    const rotated = unwrap(result, WEBHOOK);
    return this.presenter.present(rotated.webhook, rotated.secret);
  }

  @Post(':uid/test')
  @BodyLimit(MIB)
  @Authorize('factories:manage', 'factory')
  @Audited('webhook.tested')
  @ApiBody({ type: TestWebhookRequest, required: false })
  @Operation({
    id: 'testWebhook',
    summary: 'Test a webhook',
    description:
      'Stores the payload as an accepted delivery with a generated identity: automations that match start runs. The request does not pass the ingress, so that the URL and the authentication of the sender are not tested. Redeliveries and tests together: at most 60 per minute and webhook. Not while the webhook is disabled.',
    request: { value: { payload: { action: 'opened' } } },
    success: {
      status: 202,
      description: 'The new delivery; it is evaluated asynchronously.',
      type: TestWebhookResponse,
    },
    errors: [400, 403, 404, 422],
  })
  async testWebhook(
    @Req() request: Request,
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { payload = TEST_PAYLOAD }: TestWebhookRequest,
  ): Promise<TestWebhookResponse> {
    const body = Buffer.from(JSON.stringify(payload));
    if (body.length > MAX_TEST_PAYLOAD_BYTES) {
      const detail = `must not exceed ${MAX_TEST_PAYLOAD_BYTES} bytes as JSON, like a delivery`;
      throw tooLarge({ pointer: '/payload', detail });
    }
    const delivery = { body, sourceIp: this.addresses.of(request) };
    const result = await this.deliveries.test(caller, factoryUid, uid, delivery);
    return { delivery_id: unwrap(result, WEBHOOK_DELIVERY).deliveryId };
  }

  @Delete(':uid')
  @Authorize('factories:manage', 'factory')
  @Audited('webhook.deleted')
  @Operation({
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'Senders get 404 immediately. Automations that select the webhook are kept, and it does not start them any longer.',
    success: { status: 204, description: 'Deleted.' },
  })
  async deleteWebhook(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<void> {
    unwrap(await this.webhooks.delete(await this.factory(caller, factoryUid), uid), WEBHOOK);
  }

  private factory(caller: Caller, factoryUid: string): Promise<Factory> {
    return managedFactory(this.factories, caller, factoryUid);
  }
}

@ApiTags('Webhooks')
@Controller('webhook-signature-schemes')
export class SignatureSchemesController {
  constructor(private readonly schemes: SignatureSchemes) {}

  @Get()
  @Authenticated()
  @Operation({
    id: 'listWebhookSignatureSchemes',
    summary: 'List signature schemes',
    description: 'Any valid token is sufficient.',
    success: { status: 200, description: 'The signature schemes.', type: ListSignatureSchemesResponse },
    errors: [403],
  })
  listWebhookSignatureSchemes(): ListSignatureSchemesResponse {
    return {
      signature_schemes: this.schemes.all().map((scheme) => ({
        id: scheme.id,
        label: scheme.label,
        documentation_url: scheme.documentationUrl,
        headers: [...scheme.signatureHeaders],
        delivery_id_headers: [...scheme.deliveryIdHeaders],
      })),
    };
  }
}
