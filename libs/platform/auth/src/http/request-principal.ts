import type { Request } from 'express';
import type { Caller, Principal } from '../domain/principal.js';

const principals = new WeakMap<Request, Principal>();
const callers = new WeakMap<Request, Caller>();

export const rememberPrincipal = (request: Request, principal: Principal): void =>
  void principals.set(request, principal);
export const principalOf = (request: Request): Principal | undefined => principals.get(request);
export const rememberCaller = (request: Request, caller: Caller): void => void callers.set(request, caller);
export const callerOf = (request: Request): Caller | undefined => callers.get(request);
