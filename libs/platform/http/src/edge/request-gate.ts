import type { Request, RequestHandler } from 'express';
import { pathOf } from '../problems/problem-writer.js';
import { edgeStateOf } from './edge-state.js';
import { API_PREFIX } from './route-table.js';

/** Authenticates a request by its headers alone; implemented by the auth library. */
export abstract class RequestGate {
  /** Remembers the principal with the request, or throws a ProblemError `authentication_required`. */
  abstract admit(request: Request): Promise<void>;
}

/**
 * Stands before the body parser: without a valid token not one byte of the body is read, and unknown paths below the
 * API's prefix are not told apart from known ones.
 */
export function authentication(gate: RequestGate): RequestHandler {
  return (request, _response, next) => {
    const access = edgeStateOf(request).route?.access;
    const open = access?.kind === 'public' || access?.kind === 'runner';
    const below = pathOf(request).startsWith(`${API_PREFIX}/`) || access !== undefined;
    if (open || !below) {
      next();
      return;
    }
    gate.admit(request).then(() => next(), next);
  };
}
