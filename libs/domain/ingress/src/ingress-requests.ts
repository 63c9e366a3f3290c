import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { SenderAddress } from '#platform/http';
import { newContext } from '#platform/observability';
import { Exchange } from './ingress-request.js';

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
      traceId: () => newContext(request.headers.traceparent as string | undefined).traceId,
      invite: () => {
        if (/^100-continue$/i.test(request.headers.expect ?? '')) response.writeContinue();
      },
      onClose: (release) => whenOver(request, response, release),
    });
    this.open.set(request, exchange);
    return exchange;
  }

  /** That of a request which has come through the door; null for one that has found another way in. */
  of(request: IncomingMessage): Exchange | null {
    return this.open.get(request) ?? null;
  }
}

/**
 * Calls `release` once, when the answer is out or the connection gone. A response that waits behind another one of its
 * connection hears nothing of the end of that, and one whose connection has ended already hears nothing any more.
 */
function whenOver({ socket }: IncomingMessage, response: ServerResponse, release: () => void): void {
  const end = (): void => {
    response.off('close', end);
    socket.off('close', end);
    release();
  };
  if (socket.destroyed) {
    release();
    return;
  }
  // As many as a sender has requests under way on its connection.
  socket.setMaxListeners(0);
  response.on('close', end);
  socket.on('close', end);
}
