import { Controller, Get, Param, Post, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId } from '#platform/http';
import { GetDelivery } from '../application/get-delivery.js';
import { ListDeliveries } from '../application/list-deliveries.js';
import { RedeliverDelivery } from '../application/redeliver-delivery.js';
import {
  ListWebhookDeliveriesParameters,
  ListWebhookDeliveriesResponse,
  RedeliverWebhookDeliveryResponse,
  WebhookDeliveryWithPayload,
} from './delivery.dto.js';
import { presentDelivery } from './delivery-presenters.js';
import { deliveryRefusal } from './delivery-refusals.js';

const TAG = 'Webhooks';
const DEFAULT_LIMIT = 20;

/** Reading suffices at the door: the role that counts is that on the webhook's team, which `WebhookAccess` knows. */
@Controller('factories/:factoryUid/webhooks/:uid/deliveries')
export class DeliveryLogController {
  constructor(
    private readonly list: ListDeliveries,
    private readonly get: GetDelivery,
    private readonly redeliver: RedeliverDelivery,
  ) {}

  @Get()
  @Authorize('factories:read')
  @Operation({
    id: 'listWebhookDeliveries',
    summary: 'List what was delivered to a webhook',
    description:
      'What was answered with 404 or 429 is not in the log. The latest 50 deliveries, the latest 50 accepted ones and those of the last 7 days are there at least (`WEBHOOK_LOG_MIN_ENTRIES`, `WEBHOOK_LOG_RETENTION`).',
    tag: TAG,
    success: { status: 200, description: 'A page.', type: ListWebhookDeliveriesResponse },
    errors: [400, 403, 404],
  })
  async listWebhookDeliveries(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Query() { limit = DEFAULT_LIMIT, cursor, outcome }: ListWebhookDeliveriesParameters,
  ): Promise<ListWebhookDeliveriesResponse> {
    const query = { limit, cursor: cursor ?? null, outcome: outcome ?? null };
    const result = await this.list.execute(caller, factoryUid, uid, query);
    if (result.kind !== 'page') throw deliveryRefusal(result);
    const { deliveries, nextCursor } = result;
    return {
      deliveries: deliveries.map(presentDelivery),
      page_info: nextCursor === null ? { has_next_page: false } : { has_next_page: true, next_cursor: nextCursor },
    };
  }

  @Get(':deliveryId')
  @Authorize('factories:read')
  @Operation({
    id: 'getWebhookDelivery',
    summary: 'Get a delivery, with its payload when it was accepted',
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
    const result = await this.get.execute(caller, factoryUid, uid, deliveryId);
    if (result.kind !== 'found') throw deliveryRefusal(result);
    const { delivery, payload } = result;
    return { ...presentDelivery(delivery), ...(payload && { payload: payload.toString('utf8') }) };
  }

  @Post(':deliveryId/redeliver')
  @Authorize('factories:read')
  @Operation({
    id: 'redeliverWebhookDelivery',
    summary: 'Evaluate a stored delivery again',
    description:
      'As a new delivery of its own identity, with the payload of the accepted one: automations that match start new runs. At most 60 a minute and webhook, which do not count against what the sender may deliver. Not while the webhook is disabled.',
    tag: TAG,
    success: { status: 202, description: 'It will be evaluated in a moment.', type: RedeliverWebhookDeliveryResponse },
    errors: [400, 403, 404, 422],
  })
  async redeliverWebhookDelivery(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Param('deliveryId', pathId('uuid')) deliveryId: string,
  ): Promise<RedeliverWebhookDeliveryResponse> {
    const result = await this.redeliver.execute(caller, factoryUid, uid, deliveryId);
    if (result.kind !== 'redelivered') throw deliveryRefusal(result);
    return { delivery_id: result.deliveryId };
  }
}
