import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { requestStateOf } from '../edge/request-state.js';
import { ResponseLimit } from './response-limit.js';

/** Each takes more than 100 ms of processor time if it has 8 MiB. */
const lists = new ResponseLimit('lists', {
  total: 16,
  perKey: 2,
  maxWaiting: 320,
  maxWaitMs: 5_000,
  maxSendMs: 10 * 60_000,
});

@Injectable()
class LargeListInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { principal = '' } = requestStateOf(http.getRequest<Request>()).context;
    return from(lists.run(principal, http.getResponse<Response>(), () => lastValueFrom(next.handle())));
  }
}

/** For a list without pages, of up to 8 MiB: a caller gets two of them at the same time, and others wait before they are read. */
export const LargeList = (): MethodDecorator => UseInterceptors(LargeListInterceptor);
