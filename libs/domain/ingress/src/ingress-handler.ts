import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { RejectionDelay, SenderAddress, senderOf } from '#platform/http';
import { newUuid } from '#platform/kernel';
import { Metrics } from '#platform/observability';
import { isIdentityAmbiguous, type SignatureScheme, SignatureSchemes } from '#domain/webhooks';
import { AcceptDelivery } from './accept-delivery.js';
import { AuthFailureLimiter } from './auth-failure-limiter.js';
import { type Authenticator, Authenticators } from './authenticators.js';
import { BodyConcurrencyLimiter } from './body-concurrency-limiter.js';
import {
  BODY_INTERRUPTED,
  type IngressAnswer,
  NOT_POST,
  OVERLOAD,
  rateLimited,
  TOO_LARGE,
  TOO_MANY_HEADERS,
  unauthenticated,
  UNKNOWN_WEBHOOK,
} from './ingress-answer.js';
import { IngressMetrics } from './ingress-metrics.js';
import { IngressRequest } from './ingress-request.js';
import { type IngressWebhook, IngressWebhooks } from './ingress-webhooks.js';
import { declaredBytes, MAX_DELIVERY_BYTES, readBody } from './read-body.js';
import { RejectionLog } from './rejection-log.js';
import { writeAnswer, writeFault } from './write-answer.js';

/** Proxies may send the target in absolute form; only its path counts. */
const ORIGIN = /^https?:\/\/[^/?#]*/i;
const WEBHOOK_PATH = /^\/webhooks\/w(?:[/?]|$)/i;
const MAX_HEADERS = 100;
/** How often a webhook may change while one delivery is being accepted. */
const MAX_ACCEPT_ATTEMPTS = 5;

/** The outcome label of the delivery log; rejections without a label are not logged. */
type RejectionLabel = 'U' | 'L';
interface Rejection {
  readonly answer: IngressAnswer;
  readonly label: RejectionLabel | null;
}
const reject = (answer: IngressAnswer, label: RejectionLabel | null = null): Rejection => ({ answer, label });

/**
 * The pipeline of deliveries: parse, look up the webhook, limit, authenticate, accept. It is mounted in front of the Nest
 * application, so that a delivery costs no middleware and a rejection costs as little as possible.
 */
@Injectable()
export class IngressHandler {
  private readonly logger = new Logger('Ingress');
  private readonly delay: RejectionDelay | null;
  private delayed = 0;

  constructor(
    private readonly settings: Settings,
    private readonly addresses: SenderAddress,
    private readonly webhooks: IngressWebhooks,
    private readonly failures: AuthFailureLimiter,
    private readonly bodies: BodyConcurrencyLimiter,
    private readonly authenticators: Authenticators,
    private readonly schemes: SignatureSchemes,
    private readonly acceptance: AcceptDelivery,
    private readonly rejections: RejectionLog,
    private readonly metrics: IngressMetrics,
    registry: Metrics,
  ) {
    const { ingressRejectionRateLimit: limit } = settings;
    this.delay = limit === 0 ? null : new RejectionDelay(limit);
    registry.observed('headrace_ingress_rejections_waiting', 'Rejections that are being delayed.', () => this.delayed);
  }

  /** Handles every request below `/webhooks/w`, and passes all others to `next`. */
  wrap(next: RequestListener): RequestListener {
    return (incoming, response) => {
      incoming.url = incoming.url?.replace(ORIGIN, '');
      if (WEBHOOK_PATH.test(incoming.url ?? '')) void this.handle(incoming, response);
      else next(incoming, response);
    };
  }

  /** Never rejects. */
  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { publicUrl, ingressPublicUrl } = this.settings;
    try {
      const request = new IngressRequest(incoming, response, ingressPublicUrl, this.addresses.of(incoming));
      // 1. Parse. A request that cannot be a delivery is rejected before anything is looked up: it learns nothing.
      // 2. to 4. Look up the webhook, limit, authenticate.
      const rejected = parseRejection(request) ?? (await this.check(request));
      if (rejected) {
        this.metrics.answered(rejected, request.arrivedAt);
        await this.throttle(request);
        writeAnswer(response, publicUrl, rejected);
        return;
      }
      // 5. Accept. One statement decides on rate and identity and writes the delivery; it is answered after the commit.
      const answer = await this.accept(request);
      this.metrics.answered(answer, request.arrivedAt);
      // 6. Answer: 202 for an accepted delivery and for a duplicate.
      writeAnswer(response, publicUrl, answer);
      if (answer.kind === 'recorded') this.logDelivery(request, answer);
      request.endTrace(
        answer.kind === 'recorded'
          ? { 'headrace.delivery.id': answer.deliveryId, 'headrace.delivery.outcome': answer.outcome }
          : {},
      );
    } catch (error) {
      this.metrics.results.add(writeFault(response, publicUrl, this.logger, error));
    }
  }

  /**
   * Delays rejections beyond a rate that regular senders never reach: a sender that repeats as soon as it is answered is
   * slowed down, and processor time remains for deliveries. All rejections are delayed alike, by at most two seconds, so
   * that the delay reveals nothing about the reason.
   */
  private async throttle(request: IngressRequest): Promise<void> {
    const waitMs = this.delay?.next() ?? 0;
    if (waitMs === 0) return;
    request.dropBody();
    this.metrics.throttled.inc();
    this.delayed += 1;
    await sleep(waitMs);
    this.delayed -= 1;
  }

  /** Steps 2 to 4. Null when the delivery may be accepted; then `request` has its webhook and body. */
  private async check(request: IngressRequest): Promise<IngressAnswer | null> {
    let rejection = await this.findRejection(request);
    if (rejection && !request.isFresh && isAboutWebhook(rejection)) {
      // A cached webhook never rejects a delivery: it may have been rotated, enabled or deleted since it was read.
      request.webhook = await this.webhooks.refreshBatched(request.uid);
      request.isFresh = true;
      rejection = await this.findRejection(request);
    }
    return rejection && this.logged(request, rejection);
  }

  /** Runs the checks in the order that the contract fixes; the first one that fails answers. */
  private async findRejection(request: IngressRequest): Promise<Rejection | null> {
    // 2. Look up the webhook. A token behind the uid belongs to the address, but only where it is the credential.
    if (!request.webhook && !request.isFresh) {
      request.webhook = this.webhooks.getCached(request.uid);
      if (!request.webhook) await this.fetch(request);
    }
    const { webhook, pathToken } = request;
    if (!webhook || (pathToken !== null && webhook.authMode !== 'url_token')) return reject(UNKNOWN_WEBHOOK);

    // 3. Limit. Failed authentications come before the body: a blocked sender cannot make the ingress receive one.
    const blocked = this.blocked(request, webhook);
    if (blocked) return blocked;
    const isReceived = request.body !== null || request.tooLargeBytes !== null;
    const interrupted = isReceived ? null : await this.receiveBody(request, webhook);
    if (interrupted) return interrupted;
    if (request.tooLargeBytes !== null)
      return webhook.secret === null ? reject(UNKNOWN_WEBHOOK) : reject(TOO_LARGE, 'L');

    // 4. Authenticate over the raw bytes: nothing is parsed before, except by schemes that sign inside the body.
    return this.authenticate(request, webhook);
  }

  /** One round trip, which requests share under load. */
  private async fetch(request: IngressRequest): Promise<void> {
    request.webhook = await this.webhooks.fetch(request.uid);
    request.isFresh = true;
  }

  private blocked({ sourceIp }: IngressRequest, { id }: IngressWebhook): Rejection | null {
    const waitMs = this.failures.waitMs(id, sourceIp);
    return waitMs > 0 ? reject(rateLimited('auth_failures', waitMs)) : null;
  }

  private async receiveBody(request: IngressRequest, webhook: IngressWebhook): Promise<Rejection | null> {
    const declared = declaredBytes(request.incoming);
    if (declared !== null && declared > MAX_DELIVERY_BYTES) {
      request.tooLargeBytes = declared;
      return null;
    }
    let interrupt = (): void => undefined;
    const slot = this.bodies.acquire({
      webhookId: webhook.id,
      sender: senderOf(request.sourceIp),
      interrupt: () => {
        request.dropBody();
        interrupt();
      },
    });
    if (!slot) return reject(OVERLOAD);
    request.holdSlot(() => slot.release());
    const result = await readBody(request.incoming, request.sendContinue, (offered) => (interrupt = offered));
    slot.complete();
    switch (result.kind) {
      case 'read':
        request.body = result.body;
        return null;
      case 'too_large':
        request.tooLargeBytes = result.bytes;
        return null;
      case 'interrupted':
        return reject(BODY_INTERRUPTED);
      case 'disconnected':
        if (!this.hasValidToken(request, webhook)) this.failures.recordBrokenBody(webhook.id, request.sourceIp);
        return reject({ kind: 'disconnected' });
    }
  }

  /** In the modes whose credential is outside the body, so that it is known without the body. */
  private hasValidToken(request: IngressRequest, webhook: IngressWebhook): boolean {
    const hasToken = webhook.authMode === 'token' || webhook.authMode === 'url_token';
    const authenticator = hasToken ? this.authenticators.find(webhook.authMode) : null;
    return authenticator !== null && this.isAuthentic(request, authenticator, webhook);
  }

  private authenticate(request: IngressRequest, webhook: IngressWebhook): Rejection | null {
    if (webhook.secret === null) {
      // A webhook that waits for the handshake that brings its secret is unknown to every other request.
      request.handshake = this.schemeOf(webhook)?.extractSecret(request.toRequest()) ?? null;
      return request.handshake ? null : reject(UNKNOWN_WEBHOOK);
    }
    const authenticator = this.authenticators.find(webhook.authMode);
    // A webhook that was read again and has not changed fails as before: the signature is not computed a second time.
    if (request.failedFor !== webhook && authenticator !== null && this.isAuthentic(request, authenticator, webhook)) {
      this.failures.recordSuccess(webhook.id, request.sourceIp);
      return null;
    }
    request.failedFor = webhook;
    if (request.isFresh) {
      // Checked and counted without an await in between: attempts that arrive together cannot exceed the limit.
      const blocked = this.blocked(request, webhook);
      if (blocked) return blocked;
      this.failures.recordFailure(webhook.id, request.sourceIp);
    }
    return reject(unauthenticated(authenticator?.challenge ?? null), 'U');
  }

  private isAuthentic(request: IngressRequest, authenticator: Authenticator, webhook: IngressWebhook): boolean {
    const incoming = request.toRequest();
    const { deliveryIdHeader } = webhook;
    return (
      authenticator.authenticate(incoming, request.pathToken, webhook) &&
      !isIdentityAmbiguous(incoming, { deliveryIdHeader, scheme: this.schemeOf(webhook) })
    );
  }

  private schemeOf({ schemeId }: IngressWebhook): SignatureScheme | null {
    return schemeId === null ? null : this.schemes.find(schemeId);
  }

  /** Step 5. The statement refuses a webhook that has changed since it was read; then steps 2 to 4 decide again. */
  private async accept(request: IngressRequest): Promise<IngressAnswer> {
    const id = newUuid();
    request.beginTrace();
    for (let attempt = 0; attempt < MAX_ACCEPT_ATTEMPTS && request.webhook; attempt += 1) {
      const answer = await this.acceptance.accept(request, request.webhook, id);
      if (answer) return answer;
      await this.fetch(request);
      const rejection = await this.findRejection(request);
      if (rejection) return this.logged(request, rejection);
    }
    return OVERLOAD;
  }

  private logged(request: IngressRequest, { answer, label }: Rejection): IngressAnswer {
    if (label !== null && request.webhook) this.rejections.add(request, request.webhook.id, label);
    return answer;
  }

  private logDelivery(request: IngressRequest, answer: Extract<IngressAnswer, { kind: 'recorded' }>): void {
    this.logger.log('delivery', {
      webhook_uid: request.uid,
      delivery_id: answer.deliveryId,
      outcome: answer.outcome,
      size_bytes: request.body?.length ?? 0,
      trace_id: request.traceId,
    });
  }
}

function parseRejection({ incoming, uid }: IngressRequest): IngressAnswer | null {
  if (incoming.method !== 'POST') return NOT_POST;
  if (incoming.rawHeaders.length > MAX_HEADERS * 2) return TOO_MANY_HEADERS;
  return uid === '' ? UNKNOWN_WEBHOOK : null;
}

/** Whether another version of the webhook could change the decision. */
const isAboutWebhook = ({ answer }: Rejection): boolean =>
  answer.kind !== 'disconnected' && answer !== BODY_INTERRUPTED;
