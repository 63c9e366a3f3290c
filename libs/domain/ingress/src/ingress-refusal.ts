import type { DeliveryAnswer } from './ingress-answer.js';

/** How a guard says no: the ingress's filter writes the answer. */
export class IngressRefusal extends Error {
  constructor(readonly answer: DeliveryAnswer) {
    super('The delivery is refused.');
    this.name = 'IngressRefusal';
  }
}
