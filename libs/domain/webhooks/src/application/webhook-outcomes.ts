import type { Issue } from '#platform/kernel';
import type { ManagedWebhook } from '../domain/managed-webhook.js';

export type UnknownWebhook = { readonly kind: 'unknown' };
export type InvalidInput = { readonly kind: 'invalid'; readonly issues: readonly Issue[] };
/** The webhook, as it is, does not allow it; `reason` says what to do instead. */
export type NotSupported = { readonly kind: 'not_supported'; readonly reason: string };

/** `secret` is null when there is none that could be told. */
export type CreateWebhookResult =
  | { readonly kind: 'created'; readonly webhook: ManagedWebhook; readonly secret: string | null }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | InvalidInput;
export type UpdateWebhookResult =
  { readonly kind: 'updated'; readonly webhook: ManagedWebhook } | UnknownWebhook | NotSupported | InvalidInput;
export type RotateSecretResult =
  | { readonly kind: 'rotated'; readonly webhook: ManagedWebhook; readonly secret: string }
  | UnknownWebhook
  | NotSupported
  | InvalidInput;
export type DeleteWebhookResult = { readonly kind: 'deleted' } | UnknownWebhook;

export const invalid = (pointer: string, detail: string): InvalidInput => ({
  kind: 'invalid',
  issues: [{ pointer, detail }],
});
