import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { newContext } from '#libs/observability';
import { Exchange } from './exchange.js';
import { SenderAddress } from './sender-address.js';

/** The exchange of each request that is under way, from the door to its answer. */
@Injectable()
export class Exchanges {
  private readonly open = new WeakMap<IncomingMessage, Exchange>();

  constructor(
    private readonly settings: Settings,
    private readonly addresses: SenderAddress,
  ) {}

  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = new Exchange(request, {
      publicOrigin: this.settings.ingressPublicUrl,
      sourceIp: this.addresses.of(request),
      traceId: newContext(request.headers.traceparent as string | undefined).traceId,
      invite: () => {
        if (/^100-continue$/i.test(request.headers.expect ?? '')) response.writeContinue();
      },
      onClose: (release) => void response.once('close', release),
    });
    this.open.set(request, exchange);
    return exchange;
  }

  /** That of a request which has come through the door; null for one that has found another way in. */
  of(request: IncomingMessage): Exchange | null {
    return this.open.get(request) ?? null;
  }
}
