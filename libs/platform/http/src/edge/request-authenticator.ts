import type { Request, RequestHandler } from 'express';
import { pathOf } from '../problems/problem-writer.js';
import { requestStateOf } from './request-state.js';
import { API_PREFIX } from './route-table.js';

/** Authenticates a request by its headers alone; implemented by the auth library. */
export abstract class RequestAuthenticator {
  /** Stores the principal of the request, or throws a ProblemError `authentication_required`. */
  abstract authenticate(request: Request): Promise<void>;
}

/**
 * Runs before the body parser: without a valid token no byte of the body is read, and unknown paths below the prefix of the
 * API are answered like known ones.
 */
export function authentication(authenticator: RequestAuthenticator): RequestHandler {
  return (request, _response, next) => {
    const access = requestStateOf(request).route?.access;
    const open = access?.kind === 'public' || access?.kind === 'runner';
    const below = pathOf(request).startsWith(`${API_PREFIX}/`) || access !== undefined;
    if (open || !below) {
      next();
      return;
    }
    authenticator.authenticate(request).then(() => next(), next);
  };
}
