import { All, Controller, Logger, Req, Res, UseGuards } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Settings } from '#platform/config';
import { Exchanges } from './ingress-requests.js';
import { IngressAuthGuard } from './ingress-auth.guard.js';
import { IngressMeters } from './ingress-metrics.js';
import { TakeDelivery } from './accept-delivery.js';
import { writeAnswer } from './write-answer.js';

/** `POST /webhooks/w/<uid>[/<token>]`. Every other method and path below is answered here too, by the first checks. */
@Controller('webhooks/w')
@UseGuards(IngressAuthGuard)
export class WebhookDeliveriesController {
  private readonly logger = new Logger('Ingress');

  constructor(
    private readonly exchanges: Exchanges,
    private readonly take: TakeDelivery,
    private readonly settings: Settings,
    private readonly meters: IngressMeters,
  ) {}

  @All(['', '*path'])
  async deliver(@Req() request: Request, @Res() response: Response): Promise<void> {
    const exchange = this.exchanges.of(request);
    if (!exchange) throw new Error('A delivery came past its guard.');
    const answer = await this.take.execute(exchange);
    this.meters.answered(answer, exchange.arrivedAt);
    writeAnswer(response, this.settings.publicUrl, answer);
    if (answer.kind === 'taken') {
      this.logger.log('delivery', {
        webhook_uid: exchange.uid,
        delivery_id: answer.deliveryId,
        outcome: answer.outcome,
        size_bytes: exchange.body?.length ?? 0,
        trace_id: exchange.traceId,
      });
    }
  }
}
