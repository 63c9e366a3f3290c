import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  MapField,
  object,
  ObjectField,
  PageInfo,
  StringField,
  text,
} from '#platform/http';
import { DELIVERY_OUTCOMES, type DeliveryOutcome } from '../domain/delivery.js';

const OPTIONAL = { optional: true } as const;
const ID = { example: '01932f4e-7c1a-7cc2-b0f3-5d2f6d1c8a90' };

export class WebhookAutomationResult {
  @StringField({ description: 'UID of the automation.' }) automation_uid: string;
  @BooleanField({ description: 'Whether the delivery matched one of its triggers.' }) matched: boolean;
  @StringField({ ...OPTIONAL, description: 'The run that was started.' }) run_id?: string;
  @StringField({ description: 'What decided it.' }) reason: string;
}

export class WebhookDelivery {
  @StringField({ ...ID, description: 'ID of the delivery.' }) delivery_id: string;
  @EnumField(DELIVERY_OUTCOMES, {
    ...OPTIONAL,
    name: 'WebhookDeliveryOutcome',
    description: 'A sender’s handshake has none.',
  })
  outcome?: DeliveryOutcome;
  @BooleanField({ ...OPTIONAL, description: 'Only there when it is true: a sender’s handshake, which starts nothing.' })
  handshake?: boolean;
  @StringField({
    ...OPTIONAL,
    description:
      'What makes it the same when it comes again; not there where it was rejected before that was looked at.',
  })
  identity?: string;
  @StringField({ ...OPTIONAL, ...ID, description: 'The accepted delivery that has this identity.' })
  duplicate_of?: string;
  @StringField({ ...OPTIONAL, ...ID, description: 'The delivery that this one evaluates again.' })
  redelivery_of?: string;
  @IntegerField({ ...OPTIONAL, min: 2, description: 'How many rejections of a minute this line stands for.' })
  count?: number;
  @IntegerField({ description: 'Bytes of the body; of one that was too large, as far as that is known.' })
  size_bytes: number;
  @DateTimeField({ description: 'Time at which the delivery arrived.' }) received_at: string;
  @StringField({ description: 'Of a redelivery: where the delivery before came from.', example: '203.0.113.7' })
  source_ip: string;
  @MapField(text(), {
    ...OPTIONAL,
    description: 'The headers that tell what it is about; never credentials or signatures.',
  })
  headers?: Record<string, string>;
  @ArrayField(object(() => WebhookAutomationResult), {
    ...OPTIONAL,
    description: 'Of an accepted one, as soon as it is evaluated; empty when no automation looks at this webhook.',
  })
  automation_results?: WebhookAutomationResult[];
  @IntegerField({
    ...OPTIONAL,
    description:
      'In a list, of a delivery with more than 100 results: how many there are. The list shows 100, those that matched first; the delivery by itself has all.',
  })
  automation_results_count?: number;
  @StringField({
    ...OPTIONAL,
    description: 'Why the evaluation was given up; runs that it has started until then go on.',
  })
  evaluation_error?: string;
}

export class WebhookDeliveryWithPayload extends WebhookDelivery {
  @StringField({
    ...OPTIONAL,
    description: 'Of an accepted one: the body as text, whose UTF-8 is byte for byte what was sent.',
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
    description: 'Only deliveries with this label.',
  })
  outcome?: DeliveryOutcome;
}

export class ListWebhookDeliveriesResponse {
  @ArrayField(object(() => WebhookDelivery), { description: 'Newest first.' }) deliveries: WebhookDelivery[];
  @ObjectField(() => PageInfo, { description: 'Whether there is another page, and its cursor.' }) page_info: PageInfo;
}

export class RedeliverWebhookDeliveryResponse {
  @StringField({ ...ID, description: 'Of the new delivery.' }) delivery_id: string;
}
