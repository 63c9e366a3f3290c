import { Injectable } from '@nestjs/common';
import { senderOf } from '#platform/http';
import { isIdentityAmbiguous } from '#domain/webhooks';
import type { SignatureScheme } from '#domain/webhooks';
import { SignatureSchemes } from '#domain/webhooks';
import { type IngressAuthMode, IngressAuthModes } from './auth-modes.js';
import { BodySlots } from './body-concurrency-limiter.js';
import {
  CUT_OFF,
  type DeliveryAnswer,
  NO_ROOM,
  NOT_POST,
  slowDown,
  TOO_LARGE,
  TOO_MANY_HEADERS,
  unauthenticated,
  UNKNOWN_WEBHOOK,
} from './ingress-answer.js';
import type { Exchange } from './ingress-request.js';
import { FailedAuthBudget } from './auth-failure-limiter.js';
import type { IngressWebhook } from './ingress-webhook.js';
import { IngressWebhooks } from './ingress-webhooks.js';
import { declaredBytes, MAX_DELIVERY_BYTES, readBody } from './read-body.js';
import { RejectionLog } from './rejection-log.js';

const MAX_HEADERS = 100;

/** What a check says against a request, and under which label the log keeps it. */
interface Objection {
  readonly answer: DeliveryAnswer;
  readonly logged?: 'U' | 'L';
}
/** At once where nothing has to be waited for, which is most of the time. */
type Finding = Objection | null | Promise<Objection | null>;
type Check = (exchange: Exchange) => Finding;

const object = (answer: DeliveryAnswer, logged?: 'U' | 'L'): Objection =>
  logged === undefined ? { answer } : { answer, logged };

/** Who may deliver: everything up to authentication. What comes after it is decided by one statement, in TakeDelivery. */
@Injectable()
export class DeliveryChecks {
  /** The contract's order; the first that objects answers. */
  private readonly checks: readonly Check[] = [
    (exchange) => isReadablePost(exchange),
    (exchange) => this.isKnown(exchange),
    (exchange) => this.hasAttemptsLeft(exchange),
    (exchange) => this.isOfAllowedSize(exchange),
    (exchange) => this.isAuthentic(exchange),
  ];

  constructor(
    private readonly webhooks: IngressWebhooks,
    private readonly budget: FailedAuthBudget,
    private readonly slots: BodySlots,
    private readonly modes: IngressAuthModes,
    private readonly schemes: SignatureSchemes,
    private readonly rejections: RejectionLog,
  ) {}

  /** Null when the delivery may be taken; then `exchange` has its webhook and body. */
  async admit(exchange: Exchange): Promise<DeliveryAnswer | null> {
    let objection = await this.firstObjection(exchange);
    if (
      objection &&
      objection.answer.kind !== 'gone' &&
      objection.answer !== CUT_OFF &&
      exchange.webhook &&
      exchange.uid !== null &&
      !exchange.isFresh
    ) {
      // Nobody is refused on a guess: a rotation, a toggle or a deletion may lie between.
      exchange.webhook = await this.webhooks.confirm(exchange.uid);
      exchange.isFresh = true;
      objection = await this.firstObjection(exchange);
    }
    exchange.isAdmitted = objection === null;
    if (!objection) return null;
    if (objection.logged !== undefined) this.note(exchange, objection.logged);
    return objection.answer;
  }

  /** Reads the webhook anew and decides again. */
  async readmit(exchange: Exchange): Promise<DeliveryAnswer | null> {
    await this.refresh(exchange);
    return this.admit(exchange);
  }

  private async refresh(exchange: Exchange): Promise<void> {
    exchange.webhook = exchange.uid === null ? null : await this.webhooks.read(exchange.uid);
    exchange.isFresh = true;
  }

  private async firstObjection(exchange: Exchange): Promise<Objection | null> {
    for (const check of this.checks) {
      const finding = check(exchange);
      const objection = finding instanceof Promise ? await finding : finding;
      if (objection) return objection;
    }
    return null;
  }

  private isKnown(exchange: Exchange): Finding {
    if (exchange.uid === null) return object(UNKNOWN_WEBHOOK);
    if (!exchange.webhook && !exchange.isFresh) {
      exchange.webhook = this.webhooks.guess(exchange.uid);
      if (!exchange.webhook) return this.refresh(exchange).then(() => isReached(exchange));
    }
    return isReached(exchange);
  }

  private hasAttemptsLeft(exchange: Exchange): Objection | null {
    const waitMs = this.budget.waitMs(webhookOf(exchange).id, exchange.sourceIp);
    return waitMs > 0 ? object(slowDown('auth_failures', 'Authentication has failed too often.', waitMs)) : null;
  }

  private isOfAllowedSize(exchange: Exchange): Finding {
    const declared = declaredBytes(exchange.incoming);
    if (declared !== null && declared > MAX_DELIVERY_BYTES) exchange.tooLargeBytes = declared;
    const isKnown = exchange.body !== null || exchange.tooLargeBytes !== null;
    return isKnown ? this.largeness(exchange) : this.readWithinSize(exchange);
  }

  private async readWithinSize(exchange: Exchange): Promise<Objection | null> {
    const { id } = webhookOf(exchange);
    let cutOff = (): void => undefined;
    const slot = this.slots.take({
      webhookId: id,
      sender: senderOf(exchange.sourceIp),
      cutOff: () => {
        exchange.dropBody();
        cutOff();
      },
    });
    if (!slot) return object(NO_ROOM);
    exchange.keepPlace(() => slot.release());
    const reading = await readBody(exchange.incoming, exchange.invite, (offered) => (cutOff = offered));
    slot.arrived();
    switch (reading.kind) {
      case 'cut_off':
        return object(CUT_OFF);
      case 'gone':
        if (!this.hasOwnToken(exchange)) this.budget.spendOnBrokenBody(id, exchange.sourceIp);
        return object({ kind: 'gone' });
      case 'read':
        exchange.body = reading.body;
        break;
      case 'too_large':
        exchange.tooLargeBytes = reading.bytes;
    }
    return this.largeness(exchange);
  }

  /** Modes whose credential is not in the body: known without it. */
  private hasOwnToken(exchange: Exchange): boolean {
    const webhook = webhookOf(exchange);
    const mode = webhook.authMode === 'signature' ? null : this.modes.find(webhook.authMode);
    return mode !== null && this.fits(exchange, mode, webhook);
  }

  /** A webhook that waits for a handshake is unknown to everything else. */
  private largeness(exchange: Exchange): Objection | null {
    if (exchange.tooLargeBytes === null) return null;
    return webhookOf(exchange).secret === null ? object(UNKNOWN_WEBHOOK) : object(TOO_LARGE, 'L');
  }

  private isAuthentic(exchange: Exchange): Objection | null {
    const webhook = webhookOf(exchange);
    if (webhook.secret === null) {
      exchange.handshake = this.schemeOf(webhook)?.bringsSecret(exchange.toRequest()) ?? null;
      return exchange.handshake ? null : object(UNKNOWN_WEBHOOK);
    }
    const mode = this.modes.find(webhook.authMode);
    // Read anew and still the same: what did not fit it then does not fit it now.
    const isAuthentic = exchange.unfitFor !== webhook && mode !== null && this.fits(exchange, mode, webhook);
    if (isAuthentic) {
      this.budget.prove(webhook.id, exchange.sourceIp);
      return null;
    }
    exchange.unfitFor = webhook;
    // In one go with the judgement: attempts that arrive together would else all find the budget as it was.
    const overrun = exchange.isFresh ? this.hasAttemptsLeft(exchange) : null;
    if (overrun) return overrun;
    if (exchange.isFresh) this.budget.spend(webhook.id, exchange.sourceIp);
    return object(unauthenticated(mode?.challenge ?? null), 'U');
  }

  private fits(exchange: Exchange, mode: IngressAuthMode, webhook: IngressWebhook): boolean {
    const request = exchange.toRequest();
    const { deliveryIdHeader } = webhook;
    return (
      mode.authenticate(request, exchange.pathToken, webhook) &&
      !isIdentityAmbiguous(request, { deliveryIdHeader, scheme: this.schemeOf(webhook) })
    );
  }

  private schemeOf({ schemeId }: IngressWebhook): SignatureScheme | null {
    return schemeId === null ? null : this.schemes.find(schemeId);
  }

  private note(exchange: Exchange, outcome: 'U' | 'L'): void {
    const { id } = webhookOf(exchange);
    this.rejections.add({
      webhookId: id,
      outcome,
      sizeBytes: exchange.tooLargeBytes ?? exchange.body?.length ?? 0,
      sourceIp: exchange.sourceIp,
      traceId: () => exchange.traceId,
    });
  }
}

/** GET, HEAD and the rest learn nothing: they are refused before anything is looked up. */
function isReadablePost({ incoming }: Exchange): Objection | null {
  if (incoming.method !== 'POST') return object(NOT_POST);
  return incoming.rawHeaders.length > MAX_HEADERS * 2 ? object(TOO_MANY_HEADERS) : null;
}

/** A token behind the uid is part of the address, but only where it is the credential. */
function isReached({ webhook, pathToken }: Exchange): Objection | null {
  return webhook && (pathToken === null || webhook.authMode === 'url_token') ? null : object(UNKNOWN_WEBHOOK);
}

export function webhookOf({ webhook }: Exchange): IngressWebhook {
  if (!webhook) throw new Error('A delivery was judged before its webhook was found.');
  return webhook;
}
