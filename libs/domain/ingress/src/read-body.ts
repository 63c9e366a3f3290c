import type { IncomingMessage } from 'node:http';

export const MAX_DELIVERY_BYTES = 262_144;

export type ReadBodyResult =
  | { readonly kind: 'read'; readonly body: Buffer }
  /** `bytes`: more than the limit; the size as far as it is known. */
  | { readonly kind: 'too_large'; readonly bytes: number }
  /** The sender closed the connection, or the request timed out: a response would reach no one. */
  | { readonly kind: 'disconnected' }
  /** Interrupted by the ingress before the body was complete. */
  | { readonly kind: 'interrupted' };

/** The declared size; null for a chunked body. Node has already rejected a length that is not a number. */
export function declaredBytes(request: IncomingMessage): number | null {
  const declared = request.headers['content-length'];
  if (declared !== undefined) return Number(declared);
  return request.headers['transfer-encoding'] === undefined ? 0 : null;
}

/**
 * The exact bytes of a body of at most {@link MAX_DELIVERY_BYTES}, counted as they arrive. The rest of a larger body is
 * left in the socket. `sendContinue` is called before the first byte is awaited; `offerInterrupt` receives the function
 * that interrupts the reading.
 */
export function readBody(
  request: IncomingMessage,
  sendContinue: () => void,
  offerInterrupt: (interrupt: () => void) => void,
): Promise<ReadBodyResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (result: ReadBodyResult): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      request.on('error', () => undefined);
      resolve(result);
    };
    const stop = (result: ReadBodyResult): void => {
      request.pause();
      end(result);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > MAX_DELIVERY_BYTES) stop({ kind: 'too_large', bytes });
      else chunks.push(chunk);
    };
    const onEnd = (): void =>
      end({ kind: 'read', body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
    const onClose = (): void => end({ kind: 'disconnected' });
    if (request.destroyed && !request.readableEnded) {
      resolve({ kind: 'disconnected' });
      return;
    }
    offerInterrupt(() => stop({ kind: 'interrupted' }));
    sendContinue();
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
