export { IngressHandler } from './ingress-handler.js';
export { IngressFilter } from './ingress.filter.js';
export { WebhookIngressModule } from './ingress.module.js';
export { writeProblem } from './write-answer.js';
