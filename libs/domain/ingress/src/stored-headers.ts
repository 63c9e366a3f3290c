import type { RawHeaders } from '#domain/webhooks';

/** Headers that tell what a delivery is about. No credential, signature, cookie or address is among them. */
const KEPT = [
  'content-type',
  'user-agent',
  'x-github-event',
  'x-gitlab-event',
  'x-event-key',
  'x-atlassian-webhook-flow',
  'x-buildkite-event',
  'x-shopify-topic',
  'shopify-topic',
  'linear-event',
  'sentry-hook-resource',
  'circleci-event-type',
  'x-netlify-event',
  'x-slack-retry-num',
] as const;
const MAX_LENGTH = 255;

/** What the log keeps of a delivery's headers. */
export function keptHeaders(headers: RawHeaders): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT) {
    const value = headers.single(name);
    if (value !== null && value !== '') kept[name] = value.slice(0, MAX_LENGTH);
  }
  return kept;
}
