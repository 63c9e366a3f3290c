import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { fieldsOf } from '../fields/field.js';
import { refuse } from '../fields/input.pipe.js';
import { unknownField } from '../fields/unknown-field.js';
import { edgeStateOf } from './edge-state.js';

/**
 * Rejects query parameters that an operation does not have, on operations without any parameters too: a filter that is
 * misspelt, or sent to the wrong operation, must not be ignored.
 */
@Injectable()
export class QueryGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const { route } = edgeStateOf(request);
    if (route?.operation === undefined || !request.originalUrl.includes('?')) return true;
    const known = route.query === undefined ? [] : [...fieldsOf(route.query).keys()];
    const unknown = Object.keys(request.query).filter((name) => !known.includes(name));
    refuse(
      'query',
      unknown.map((name) => unknownField(name, known)),
    );
    return true;
  }
}
