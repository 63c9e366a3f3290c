/** Wakes the processor, because a message is due. A hint, never throws. */
export abstract class DeliveryNudge {
  abstract nudge(): void;
}
