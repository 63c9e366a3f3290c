/** Tells the processor that something is due now. A hint; never throws. */
export abstract class DeliveryNudge {
  abstract nudge(): void;
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** All addresses of a host name. Rejects when it has none. */
export abstract class HostResolver {
  abstract resolve(hostname: string): Promise<readonly ResolvedAddress[]>;
}

export interface OutgoingMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type SendResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The beginning of the answer's body, as text. */
      readonly body: string;
      /** Milliseconds that the receiver wants to be waited; 0 when it says nothing. */
      readonly retryAfterMs: number;
    }
  /** `reason` is for the owner of the webhook: it names no address. */
  | { readonly kind: 'unanswered'; readonly reason: string }
  /** By the caller's signal. */
  | { readonly kind: 'broken_off' };

/** Posts a message to an address that users have given, and to none that they must not reach. Never rejects. */
export abstract class NotificationSender {
  abstract send(message: OutgoingMessage, signal: AbortSignal): Promise<SendResult>;
}
