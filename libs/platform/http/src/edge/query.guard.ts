import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { fieldsOf } from '../fields/field.js';
import { rejectIssues } from '../fields/input.pipe.js';
import { unknownField } from '../fields/read-dto.js';
import { requestStateOf } from './request-state.js';

/**
 * Rejects unknown query parameters, also on operations without parameters: a filter that is misspelled, or sent to the wrong
 * operation, must not be ignored.
 */
@Injectable()
export class QueryGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const { route } = requestStateOf(request);
    if (route?.operation === undefined || !request.originalUrl.includes('?')) return true;
    const known = route.query === undefined ? [] : [...fieldsOf(route.query).keys()];
    const unknown = Object.keys(request.query).filter((name) => !known.includes(name));
    rejectIssues(
      'query',
      unknown.map((name) => unknownField(name, known)),
    );
    return true;
  }
}
