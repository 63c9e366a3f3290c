import type { IncomingMessage } from 'node:http';

export const MAX_DELIVERY_BYTES = 262_144;

export type BodyReading =
  | { readonly kind: 'read'; readonly body: Buffer }
  /** `bytes`: as far as it is known; more than the limit. */
  | { readonly kind: 'too_large'; readonly bytes: number }
  /** The sender went away, or took too long: there is nobody to answer. */
  | { readonly kind: 'gone' }
  /** It was ended here, before all of it had come. */
  | { readonly kind: 'cut_off' };

/** What the request says of its size; null for a chunked body. Node has refused whatever is no number. */
export function declaredBytes(request: IncomingMessage): number | null {
  const declared = request.headers['content-length'];
  if (declared !== undefined) return Number(declared);
  return request.headers['transfer-encoding'] === undefined ? 0 : null;
}

/**
 * The exact bytes of a body of at most {@link MAX_DELIVERY_BYTES}, counted as they come. A larger one is not read on:
 * the rest stays in the socket. `invite` is called before the first byte is waited for; `offerCutOff` is given what
 * ends the reading.
 */
export function readBody(
  request: IncomingMessage,
  invite: () => void,
  offerCutOff: (cutOff: () => void) => void,
): Promise<BodyReading> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (reading: BodyReading): void => {
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      request.on('error', () => undefined);
      resolve(reading);
    };
    const stop = (reading: BodyReading): void => {
      request.pause();
      end(reading);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > MAX_DELIVERY_BYTES) stop({ kind: 'too_large', bytes });
      else chunks.push(chunk);
    };
    const onEnd = (): void =>
      end({ kind: 'read', body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
    const onGone = (): void => end({ kind: 'gone' });
    if (request.destroyed && !request.readableEnded) {
      resolve({ kind: 'gone' });
      return;
    }
    offerCutOff(() => stop({ kind: 'cut_off' }));
    invite();
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
  });
}
