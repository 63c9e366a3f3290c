export { IngressFilter } from './ingress.filter.js';
export { DeliveryDoor } from './ingress-handler.js';
export { WebhookIngressModule } from './webhook-ingress.module.js';
export { writeProblem } from './write-answer.js';
