import { Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pageInfo, pathId, unwrap } from '#platform/http';
import { DeliveriesService } from '../application/deliveries.service.js';
import {
  ListWebhookDeliveriesParameters,
  ListWebhookDeliveriesResponse,
  RedeliverWebhookDeliveryResponse,
  WebhookDeliveryWithPayload,
} from './delivery.dto.js';
import { presentDelivery, WEBHOOK_DELIVERY } from './webhook-presenter.js';

const DEFAULT_LIMIT = 20;

@ApiTags('Webhooks')
@Controller('factories/:factoryUid/webhooks/:uid/deliveries')
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesService) {}

  @Get()
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'listWebhookDeliveries',
    summary: 'List webhook deliveries',
    description:
      'Newest first. Requests that were answered with 404 or 429 are not logged. At least the latest 50 deliveries, the latest 50 accepted ones and those of the last 7 days are kept (`WEBHOOK_LOG_MIN_ENTRIES`, `WEBHOOK_LOG_RETENTION`).',
    success: { status: 200, description: 'A page of deliveries.', type: ListWebhookDeliveriesResponse },
  })
  async listWebhookDeliveries(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Query() { limit = DEFAULT_LIMIT, cursor, outcome }: ListWebhookDeliveriesParameters,
  ): Promise<ListWebhookDeliveriesResponse> {
    const query = { limit, cursor: cursor ?? null, outcome: outcome ?? null };
    const result = await this.deliveries.list(caller, factoryUid, uid, query);
    const { items, nextCursor } = unwrap(result, WEBHOOK_DELIVERY);
    return { deliveries: items.map(presentDelivery), page_info: pageInfo(nextCursor) };
  }

  @Get(':deliveryId')
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'getWebhookDelivery',
    summary: 'Get a webhook delivery',
    description: 'The delivery contains its payload if it was accepted.',
    success: { status: 200, description: 'The delivery.', type: WebhookDeliveryWithPayload },
  })
  async getWebhookDelivery(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Param('deliveryId', pathId('uuid')) deliveryId: string,
  ): Promise<WebhookDeliveryWithPayload> {
    const result = await this.deliveries.get(caller, factoryUid, uid, deliveryId);
    const { delivery, payload } = unwrap(result, WEBHOOK_DELIVERY);
    return { ...presentDelivery(delivery), ...(payload && { payload: payload.toString('utf8') }) };
  }

  @Post(':deliveryId/redeliver')
  @Authorize('factories:manage', 'factory')
  @Audited('webhook_delivery.redelivered')
  @Operation({
    id: 'redeliverWebhookDelivery',
    summary: 'Redeliver a webhook delivery',
    description:
      'Evaluates the payload of an accepted delivery again, as a new delivery with a new identity: automations that match start new runs. At most 60 per minute and webhook, independent of the rate limit of the sender. Not while the webhook is disabled.',
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
    const result = await this.deliveries.redeliver(caller, factoryUid, uid, deliveryId);
    return { delivery_id: unwrap(result, WEBHOOK_DELIVERY).deliveryId };
  }
}
