import type { Request } from 'express';
import { newContext, type RequestContext } from '#platform/observability';
import type { Route } from './route-table.js';

/** What the edge knows about a request before any controller sees it. */
export interface EdgeState {
  readonly context: RequestContext;
  /** The route that will serve it, found before routing; undefined for unknown paths and wrong methods. */
  readonly route: Route | undefined;
  /** Uid of the token that authenticated it; what the rate is counted by. */
  tokenUid?: string;
  /** Why a 401 was answered; for the log only. */
  refusal?: string;
  /** Code of the problem document that was sent, for the access log. */
  errorCode?: string;
}

const states = new WeakMap<Request, EdgeState>();

export function rememberEdgeState(request: Request, state: EdgeState): void {
  states.set(request, state);
}

export function edgeStateOf(request: Request): EdgeState {
  const known = states.get(request);
  if (known) return known;
  const fresh: EdgeState = { context: newContext(), route: undefined };
  states.set(request, fresh);
  return fresh;
}
