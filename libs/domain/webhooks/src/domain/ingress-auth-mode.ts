import { ExtensionPoint } from '#platform/kernel';
import type { IncomingRequest } from './signing/incoming-request.js';

/**
 * Extension point: how a sender proves that it knows the secret of a webhook, which the service generates. Never throws,
 * whatever the request contains. Two extensions for one mode prevent the start.
 */
@ExtensionPoint(['api', 'ingress'])
export abstract class IngressAuthMode {
  /** Value of `auth_mode`: lower-case letters, digits and underscores, at most 64. Permanent once published. */
  abstract readonly mode: string;
  /** Value of `WWW-Authenticate` in a 401 response. */
  readonly challenge: string | null = null;
  /** Compares in constant time. */
  abstract authenticate(request: IncomingRequest, secret: string): boolean;
  /** The headers with which a sender proves it, by their names in lower case. Their values are not stored. */
  abstract headers(secret: string): Readonly<Record<string, string>>;
}
