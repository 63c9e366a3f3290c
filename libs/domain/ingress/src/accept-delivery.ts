import { Injectable } from '@nestjs/common';
import { BackgroundTasks } from '#platform/jobs';
import {
  EVALUATE_DELIVERIES_TASK,
  identityKey,
  identityOf,
  type IdentitySources,
  type IncomingRequest,
  type RawHeaders,
  signatureKey,
  type SignatureScheme,
  SignatureSchemes,
} from '#domain/webhooks';
import { DeliveryWriter } from './delivery-writer.js';
import { type IngressAnswer, NOT_JSON, rateLimited, UNKNOWN_WEBHOOK } from './ingress-answer.js';
import type { IngressRequest } from './ingress-request.js';
import type { IngressWebhook } from './ingress-webhooks.js';
import { RejectionLog } from './rejection-log.js';

/** Headers that describe a delivery. None of them is a credential, a signature, a cookie or an address. */
const STORED_HEADERS = [
  'content-type',
  'user-agent',
  'x-github-event',
  'x-gitlab-event',
  'x-event-key',
  'x-atlassian-webhook-flow',
  'x-buildkite-event',
  'x-shopify-topic',
  'shopify-topic',
  'linear-event',
  'sentry-hook-resource',
  'circleci-event-type',
  'x-netlify-event',
  'x-slack-retry-num',
] as const;
const MAX_HEADER_LENGTH = 255;

/** The last step of the pipeline, for an authentic delivery: rate, JSON and identity, decided and written by one statement. */
@Injectable()
export class AcceptDelivery {
  constructor(
    private readonly writer: DeliveryWriter,
    private readonly schemes: SignatureSchemes,
    private readonly rejections: RejectionLog,
    private readonly tasks: BackgroundTasks,
  ) {}

  /** `id`: of the new delivery. Null when the webhook has changed since it was read: nothing was written. */
  async accept(request: IngressRequest, webhook: IngressWebhook, id: string): Promise<IngressAnswer | null> {
    if (request.handshake) return this.captureSecret(request, webhook);
    const incoming = request.toRequest();
    const scheme = webhook.schemeId === null ? null : this.schemes.find(webhook.schemeId);
    const isJson = request.json() !== undefined;
    const form = isJson || scheme === null || scheme === undefined ? null : readForm(request, scheme);
    const ofForm = form?.body ?? null;
    // Of a form, the JSON in it is stored; identity and signature are those of the form.
    const body = ofForm ?? incoming.body;
    const handshake = isJson ? (scheme?.handshake(incoming, webhook.secret ?? '') ?? null) : null;
    const item = {
      id,
      source_ip: request.sourceIp,
      headers: storedHeaders(request.headers),
      trace_id: request.traceId,
      ...(request.traceparent !== null && { trace_context: request.traceparent }),
      // Of what is stored: the bodies of a batch are sent in one value.
      size: body.length,
    };
    const sources = { deliveryIdHeader: webhook.deliveryIdHeader, scheme };
    const result = await this.writer.accept(
      (isJson || ofForm !== null) && !handshake
        ? { webhook, body, ...identified(item, incoming, sources) }
        : { webhook, body, keys: [], item: { ...item, outcome: handshake ? 'H' : 'J' } },
    );
    switch (result.kind) {
      case 'accepted':
        this.tasks.wake(EVALUATE_DELIVERIES_TASK);
        return { kind: 'recorded', outcome: 'accepted', deliveryId: result.deliveryId, form };
      case 'duplicate':
        return { kind: 'recorded', outcome: 'duplicate', deliveryId: result.deliveryId, form };
      case 'limited':
        return rateLimited('rate_limited', result.retryMs);
      case 'counted':
        if (handshake) return { kind: 'handshake', answer: handshake };
        this.rejections.add(request, webhook.id, 'J');
        return NOT_JSON;
      case 'stale':
        return null;
    }
  }

  /** The secret that an unsigned first request contains. A second such request finds the webhook unknown. */
  private async captureSecret(request: IngressRequest, webhook: IngressWebhook): Promise<IngressAnswer> {
    const { handshake, body, sourceIp, traceId } = request;
    const sizeBytes = body?.length ?? 0;
    if (!handshake || (sizeBytes > 0 && request.json() === undefined)) return UNKNOWN_WEBHOOK;
    const from = { sizeBytes, sourceIp, traceId };
    const isCaptured = await this.writer.captureSecret(webhook, handshake.secret, from);
    return isCaptured ? { kind: 'handshake', answer: handshake.answer } : UNKNOWN_WEBHOOK;
  }
}

/** A delivery that is decided by its identity, and by what its signature covers. */
function identified<Item extends object>(item: Item, request: IncomingRequest, sources: IdentitySources) {
  const identity = identityOf(request, sources);
  const signature = signatureKey(request, sources);
  return {
    item: { ...item, outcome: 'A', identity_kind: identity.kind, identity: identity.value, signed: signature !== null },
    keys: [identityKey(identity), ...(signature ? [signature] : [])],
  } as const;
}

/** What a form stands for, and the body of the response to it; null: the scheme knows no such form. */
function readForm(
  request: IngressRequest,
  { formField, command }: SignatureScheme,
): { readonly body: Buffer; readonly response: string } | null {
  const json = formField === null ? null : request.jsonInForm(formField);
  if (json !== null) return { body: json, response: '' };
  const fields = command === null ? null : request.formWith(command.name);
  return command === null || fields === null ? null : { body: fields, response: command.response };
}

function storedHeaders(headers: RawHeaders): Record<string, string> {
  const stored: Record<string, string> = {};
  for (const name of STORED_HEADERS) {
    const value = headers.single(name);
    if (value !== null && value !== '') stored[name] = value.slice(0, MAX_HEADER_LENGTH);
  }
  return stored;
}
