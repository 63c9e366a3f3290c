import type { Webhook } from './webhook.js';

/** What a sender posts to; `token` is a part of it in `url_token` mode only. */
export const ingressUrl = (
  origin: string,
  { uid, authMode }: Pick<Webhook, 'uid' | 'authMode'>,
  token: string,
): string => `${origin}/webhooks/w/${uid}${authMode === 'url_token' ? `/${token}` : ''}`;
