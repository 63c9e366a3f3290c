import { Controller, Get, Param, Post, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pageInfo, pathId } from '#platform/http';
import { DeliveriesService } from '../application/deliveries.service.js';
import { RedeliverDelivery } from '../application/redeliver-delivery.js';
import {
  ListWebhookDeliveriesParameters,
  ListWebhookDeliveriesResponse,
  RedeliverWebhookDeliveryResponse,
  WebhookDeliveryWithPayload,
} from './delivery.dto.js';
import { presentDelivery } from './webhook-presenter.js';
import { webhookProblem } from './problems.js';

const TAG = 'Webhooks';
const DEFAULT_LIMIT = 20;

/** The role that counts is the role on the team of the webhook, which `DeliveriesService` checks. */
@Controller('factories/:factoryUid/webhooks/:uid/deliveries')
export class DeliveriesController {
  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly redeliver: RedeliverDelivery,
  ) {}

  @Get()
  @Authorize('factories:read')
  @Operation({
    id: 'listWebhookDeliveries',
    summary: 'List webhook deliveries',
    description:
      'Newest first. Requests that were answered with 404 or 429 are not logged. At least the latest 50 deliveries, the latest 50 accepted ones and those of the last 7 days are kept (`WEBHOOK_LOG_MIN_ENTRIES`, `WEBHOOK_LOG_RETENTION`).',
    tag: TAG,
    success: { status: 200, description: 'A page of deliveries.', type: ListWebhookDeliveriesResponse },
    errors: [400, 403, 404],
  })
  async listWebhookDeliveries(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Query() { limit = DEFAULT_LIMIT, cursor, outcome }: ListWebhookDeliveriesParameters,
  ): Promise<ListWebhookDeliveriesResponse> {
    const query = { limit, cursor: cursor ?? null, outcome: outcome ?? null };
    const result = await this.deliveries.list(caller, factoryUid, uid, query);
    if (result.kind !== 'page') throw webhookProblem(result);
    const { deliveries, nextCursor } = result;
    return {
      deliveries: deliveries.map(presentDelivery),
      page_info: pageInfo(nextCursor),
    };
  }

  @Get(':deliveryId')
  @Authorize('factories:read')
  @Operation({
    id: 'getWebhookDelivery',
    summary: 'Get a webhook delivery',
    description: 'With the payload of an accepted delivery.',
    tag: TAG,
    success: { status: 200, description: 'The delivery.', type: WebhookDeliveryWithPayload },
    errors: [400, 403, 404],
  })
  async getWebhookDelivery(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Param('deliveryId', pathId('uuid')) deliveryId: string,
  ): Promise<WebhookDeliveryWithPayload> {
    const result = await this.deliveries.get(caller, factoryUid, uid, deliveryId);
    if (result.kind !== 'found') throw webhookProblem(result);
    const { delivery, payload } = result;
    return { ...presentDelivery(delivery), ...(payload && { payload: payload.toString('utf8') }) };
  }

  @Post(':deliveryId/redeliver')
  @Authorize('factories:read')
  @Operation({
    id: 'redeliverWebhookDelivery',
    summary: 'Redeliver a webhook delivery',
    description:
      'Evaluates the payload of an accepted delivery again, as a new delivery with a new identity: automations that match start new runs. At most 60 per minute and webhook, independent of the rate limit of the sender. Not while the webhook is disabled.',
    tag: TAG,
    success: {
      status: 202,
      description: 'The new delivery; it is evaluated asynchronously.',
      type: RedeliverWebhookDeliveryResponse,
    },
    errors: [400, 403, 404, 422],
  })
  async redeliverWebhookDelivery(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Param('deliveryId', pathId('uuid')) deliveryId: string,
  ): Promise<RedeliverWebhookDeliveryResponse> {
    const result = await this.redeliver.execute(caller, factoryUid, uid, deliveryId);
    if (result.kind !== 'redelivered') throw webhookProblem(result);
    return { delivery_id: result.deliveryId };
  }
}
