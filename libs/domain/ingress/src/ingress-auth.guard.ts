import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { DeliveryChecks } from './delivery-checks.js';
import { Exchanges } from './ingress-requests.js';
import { IngressRefusal } from './ingress-refusal.js';

/**
 * Lets a delivery in when the checks up to authentication have nothing against it. The door has asked them already, as a
 * rule; a request that came past it is judged here.
 */
@Injectable()
export class IngressAuthGuard implements CanActivate {
  constructor(
    private readonly exchanges: Exchanges,
    private readonly checks: DeliveryChecks,
  ) {}

  async canActivate(context: ExecutionContext): Promise<true> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const exchange = this.exchanges.of(request) ?? this.exchanges.begin(request, http.getResponse<Response>());
    if (exchange.isAdmitted) return true;
    const objection = await this.checks.admit(exchange);
    if (objection) throw new IngressRefusal(objection);
    return true;
  }
}
