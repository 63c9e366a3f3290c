import type { IncomingMessage } from 'node:http';
import { newContext, type RequestContext } from '#platform/observability';
import { RequestSlot } from './request-slot.js';
import type { Route } from './route-table.js';

/** State of a request that the edge collects before a controller handles it. */
export interface RequestState {
  readonly context: RequestContext;
  /** The route of the request, matched before routing; undefined for unknown paths and methods. */
  readonly route: Route | undefined;
  /** Of the parameters in the path, as they were sent. */
  readonly values: readonly string[];
  /** UID of the token that authenticated the request; the rate limit counts by it. */
  tokenUid?: string;
  /** Of a request of a runner: finds the owner of its run, to whose permits large responses count. */
  findOwner?: () => Promise<string>;
  /** Why the request was answered with 401; for the log only. */
  rejection?: string;
  /** Code of the problem document that was sent; for the access log. */
  errorCode?: string;
}

const states = new RequestSlot<RequestState>('state');

export function setRequestState(request: IncomingMessage, state: RequestState): void {
  states.set(request, state);
}

export function requestStateOf(request: IncomingMessage): RequestState {
  const known = states.get(request);
  if (known) return known;
  const fresh: RequestState = { context: newContext(), route: undefined, values: [] };
  states.set(request, fresh);
  return fresh;
}

/** The path of a request, without its query. Express changes the `url` of handlers below a prefix. */
export function pathOf(request: IncomingMessage & { readonly originalUrl?: string }): string {
  const [path = ''] = (request.originalUrl ?? request.url ?? '').split('?', 1);
  return path;
}

export function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
