import { Injectable } from '@nestjs/common';
import { newUuid } from '#platform/kernel';
import { EvaluationNudge } from '#domain/webhooks';
import { identityOf, signatureKey } from '#domain/webhooks';
import type { HandshakeAnswer } from '#domain/webhooks';
import { SignatureSchemes } from '#domain/webhooks';
import { CapturedSecrets } from './captured-secrets.js';
import { type DeliveryAnswer, NO_ROOM, NOT_JSON, slowDown, UNKNOWN_WEBHOOK } from './ingress-answer.js';
import { DeliveryChecks, webhookOf } from './delivery-checks.js';
import type { Exchange } from './ingress-request.js';
import { keptHeaders } from './stored-headers.js';
import { RejectionLog } from './rejection-log.js';
import { TakenDeliveries, type Taking } from './delivery-writer.js';

/** How often a webhook may change while one delivery is being taken. */
const MAX_ROUNDS = 5;

/**
 * The checks after authentication, and the taking itself: rate, JSON, identity. One statement decides and writes; the
 * answer is given after its commit.
 */
@Injectable()
export class TakeDelivery {
  constructor(
    private readonly checks: DeliveryChecks,
    private readonly taken: TakenDeliveries,
    private readonly schemes: SignatureSchemes,
    private readonly captured: CapturedSecrets,
    private readonly rejections: RejectionLog,
    private readonly evaluation: EvaluationNudge,
  ) {}

  /** `exchange` has been admitted. */
  async execute(exchange: Exchange): Promise<DeliveryAnswer> {
    const id = newUuid();
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (exchange.handshake) return this.capture(exchange);
      const { taking, handshake } = await this.take(exchange, id);
      if (taking.kind !== 'stale') return this.answer(exchange, taking, handshake);
      const objection = await this.checks.readmit(exchange);
      if (objection) return objection;
    }
    return NO_ROOM;
  }

  private async take(exchange: Exchange, id: string): Promise<{ taking: Taking; handshake: HandshakeAnswer | null }> {
    const webhook = webhookOf(exchange);
    const request = exchange.toRequest();
    const scheme = webhook.schemeId === null ? null : this.schemes.find(webhook.schemeId);
    const isJson = exchange.json() !== undefined;
    const handshake = isJson ? (scheme?.handshake(request, webhook.secret ?? '') ?? null) : null;
    const kind = isJson ? (handshake ? 'handshake' : 'delivery') : 'invalid_json';
    const sources = { deliveryIdHeader: webhook.deliveryIdHeader, scheme };
    const taking = await this.taken.take({
      webhook,
      id,
      kind,
      identity: kind === 'delivery' ? identityOf(request, sources) : null,
      signatureKey: kind === 'delivery' ? signatureKey(request, sources) : null,
      body: request.body,
      sourceIp: exchange.sourceIp,
      headers: keptHeaders(exchange.headers),
      traceId: exchange.traceId,
    });
    return { taking, handshake };
  }

  private answer(
    exchange: Exchange,
    taking: Exclude<Taking, { kind: 'stale' }>,
    handshake: HandshakeAnswer | null,
  ): DeliveryAnswer {
    switch (taking.kind) {
      case 'accepted':
        this.evaluation.nudge();
        return { kind: 'taken', outcome: 'accepted', deliveryId: taking.deliveryId };
      case 'duplicate':
        return { kind: 'taken', outcome: 'duplicate', deliveryId: taking.deliveryId };
      case 'limited':
        return slowDown('rate_limited', 'This webhook takes no more deliveries at the moment.', taking.retryMs);
      case 'counted':
        if (handshake) return { kind: 'handshake', answer: handshake };
        this.rejections.add({
          webhookId: webhookOf(exchange).id,
          outcome: 'J',
          sizeBytes: exchange.body?.length ?? 0,
          sourceIp: exchange.sourceIp,
          traceId: () => exchange.traceId,
        });
        return NOT_JSON;
    }
  }

  private async capture(exchange: Exchange): Promise<DeliveryAnswer> {
    const { handshake } = exchange;
    const isEmpty = exchange.body === null || exchange.body.length === 0;
    if (!handshake || (!isEmpty && exchange.json() === undefined)) return UNKNOWN_WEBHOOK;
    const isTaken = await this.captured.capture(webhookOf(exchange), handshake.secret, exchange);
    return isTaken ? { kind: 'handshake', answer: handshake.answer } : UNKNOWN_WEBHOOK;
  }
}
