import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  JsonField,
  MapField,
  object,
  ObjectField,
  optionalBody,
  PageInfo,
  StringField,
  text,
} from '#platform/http';
import { DELIVERY_OUTCOMES, type DeliveryOutcome } from '../domain/delivery.js';

const OPTIONAL = { optional: true } as const;
const ID = { example: '01932f4e-7c1a-7cc2-b0f3-5d2f6d1c8a90' };

const ANY_JSON = {
  oneOf: [
    // Beside `oneOf`, where there is no type, OpenAPI 3.0 does not allow `nullable`.
    { type: 'object' as const, additionalProperties: true, nullable: true },
    { type: 'array' as const, items: {} },
    { type: 'string' as const },
    { type: 'number' as const },
    { type: 'boolean' as const },
  ],
};

export class WebhookAutomationResult {
  @StringField({ description: 'UID of the automation.' }) automation_uid: string;
  @BooleanField({ description: 'Whether the delivery matched one of its triggers.' }) matched: boolean;
  @StringField({ ...OPTIONAL, description: 'The run that was started.' }) run_id?: string;
  @StringField({ description: 'The clause and the value that decided the result.' }) reason: string;
}

export class WebhookDelivery {
  @StringField({ ...ID, description: 'ID of the delivery.' }) delivery_id: string;
  @EnumField(DELIVERY_OUTCOMES, {
    ...OPTIONAL,
    name: 'WebhookDeliveryOutcome',
    description: 'Outcome of the delivery. A handshake has none.',
  })
  outcome?: DeliveryOutcome;
  @BooleanField({
    ...OPTIONAL,
    description: 'Whether the delivery is a handshake of the sender, which starts no run. Present only when true.',
  })
  handshake?: boolean;
  @StringField({
    ...OPTIONAL,
    description: 'Identity by which a repeated delivery is recognised; absent when the delivery was rejected before.',
  })
  identity?: string;
  @StringField({ ...OPTIONAL, ...ID, description: 'The accepted delivery that has this identity.' })
  duplicate_of?: string;
  @StringField({ ...OPTIONAL, ...ID, description: 'The delivery that this one evaluates again.' })
  redelivery_of?: string;
  @BooleanField({
    ...OPTIONAL,
    description: 'Whether the delivery was sent as a test through the API. Present only when true.',
  })
  test?: boolean;
  @IntegerField({ ...OPTIONAL, min: 2, description: 'Number of rejections within a minute that this line counts.' })
  count?: number;
  @IntegerField({ description: 'Bytes of the body; of a body that was too large, as far as it is known.' })
  size_bytes: number;
  @DateTimeField({ description: 'Time at which the delivery arrived.' }) received_at: string;
  @StringField({
    description:
      'IP address of the sender; of a redelivery, that of the original delivery; of a test, that of the caller.',
    example: '203.0.113.7',
  })
  source_ip: string;
  @MapField(text(), {
    ...OPTIONAL,
    description: 'Headers that describe the delivery; never credentials or signatures.',
  })
  headers?: Record<string, string>;
  @ArrayField(object(() => WebhookAutomationResult), {
    ...OPTIONAL,
    description: 'Results of an accepted delivery, once it is evaluated; empty when no automation selects the webhook.',
  })
  automation_results?: WebhookAutomationResult[];
  @IntegerField({
    ...OPTIONAL,
    description:
      'Number of results of a delivery with more than 100, in lists. A list contains 100 of them, those that matched first; a single delivery contains all.',
  })
  automation_results_count?: number;
  @StringField({
    ...OPTIONAL,
    description: 'Why the evaluation was abandoned; runs that it has started continue.',
  })
  evaluation_error?: string;
}

export class WebhookDeliveryWithPayload extends WebhookDelivery {
  @StringField({
    ...OPTIONAL,
    description: 'Body of an accepted delivery as text; its UTF-8 encoding is byte for byte what was sent.',
    example: '{"action":"opened"}',
  })
  payload?: string;
}

export class ListWebhookDeliveriesParameters {
  @IntegerField({ ...OPTIONAL, min: 1, max: 500, default: 20, description: 'Maximum number of entries in a page.' })
  limit?: number;
  @StringField({ ...OPTIONAL, blank: false, max: 4096, description: '`next_cursor` of the previous page.' })
  cursor?: string;
  @EnumField(DELIVERY_OUTCOMES, {
    ...OPTIONAL,
    name: 'WebhookDeliveryOutcome',
    description: 'Returns only deliveries with this outcome.',
  })
  outcome?: DeliveryOutcome;
}

export class ListWebhookDeliveriesResponse {
  @ArrayField(object(() => WebhookDelivery), { description: 'The deliveries, newest first.' })
  deliveries: WebhookDelivery[];
  @ObjectField(() => PageInfo, { description: 'Whether there is another page, and its cursor.' }) page_info: PageInfo;
}

/** Bytes of JSON, as of a delivery. */
export const MAX_TEST_PAYLOAD_BYTES = 262_144;

@optionalBody
export class TestWebhookRequest {
  @JsonField({
    ...OPTIONAL,
    schema: ANY_JSON,
    description:
      'Any JSON value, including null, of at most 256 KiB. Default: a small object that says that it is a test.',
  })
  payload?: unknown;
}

export class TestWebhookResponse {
  @StringField({ ...ID, description: 'ID of the new delivery.' }) delivery_id: string;
}

export class RedeliverWebhookDeliveryResponse {
  @StringField({ ...ID, description: 'ID of the new delivery.' }) delivery_id: string;
}
