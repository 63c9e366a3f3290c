import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { DeliveryChecks } from './delivery-checks.js';
import { Exchanges } from './ingress-requests.js';
import { IngressMeters } from './ingress-metrics.js';
import { RefusalPace } from './rejection-throttle.js';
import { writeFault } from './write-fault.js';
import { writeAnswer } from './write-answer.js';

/** The absolute form of a target, which proxies may send: what counts is the path. */
const ORIGIN = /^https?:\/\/[^/?#]*/i;
const BELOW = /^\/webhooks\/w(?:[/?]|$)/;

/**
 * Stands before the application: a delivery that is refused is refused here, for a fraction of what a request costs
 * inside. Whoever knocks at random, or too often, takes little from those who deliver.
 */
@Injectable()
export class DeliveryDoor {
  private readonly logger = new Logger(DeliveryDoor.name);

  constructor(
    private readonly checks: DeliveryChecks,
    private readonly exchanges: Exchanges,
    private readonly settings: Settings,
    private readonly pace: RefusalPace,
    private readonly meters: IngressMeters,
  ) {}

  /** Lets other paths and admitted deliveries through to `inside`. */
  before(inside: RequestListener): RequestListener {
    return (request, response) => {
      request.url = request.url?.replace(ORIGIN, '');
      if (!BELOW.test(request.url ?? '')) inside(request, response);
      else void this.knock(request, response, inside);
    };
  }

  private async knock(request: IncomingMessage, response: ServerResponse, inside: RequestListener): Promise<void> {
    try {
      const exchange = this.exchanges.begin(request, response);
      const objection = await this.checks.admit(exchange);
      if (!objection) {
        inside(request, response);
        return;
      }
      this.meters.answered(objection, exchange.arrivedAt);
      const held = this.pace.hold();
      if (held) {
        exchange.dropBody();
        await held;
      }
      writeAnswer(response, this.settings.publicUrl, objection);
    } catch (error) {
      this.meters.failed(writeFault(response, this.settings.publicUrl, this.logger, error));
    }
  }
}
