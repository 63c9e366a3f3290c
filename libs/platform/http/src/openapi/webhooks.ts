import type { Type } from '@nestjs/common';
import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';

/** A message that this service posts to webhooks of its users. */
export interface WebhookMessage {
  readonly name: string;
  readonly summary: string;
  readonly tag: string;
  readonly payload: Type<unknown>;
}

const HEADERS = {
  'webhook-id': 'Identifies the message; the same in all attempts.',
  'webhook-timestamp': 'Time of the attempt in seconds since 1970.',
  'webhook-signature': 'One or several signatures `v1,<base64>` of Standard Webhooks, separated by spaces.',
};

/** The section `webhooks` of the document: one entry per type of message, signed as Standard Webhooks describes it. */
export function webhooksSection(messages: readonly WebhookMessage[]): NonNullable<OpenAPIObject['webhooks']> {
  return Object.fromEntries(
    messages.map(({ name, summary, tag, payload }) => [
      name,
      {
        post: {
          tags: [tag],
          summary,
          // The receiver authenticates the message by its signature; it gets no bearer token.
          security: [],
          parameters: Object.entries(HEADERS).map(([header, description]) => ({
            name: header,
            in: 'header' as const,
            required: true,
            description,
            schema: { type: 'string' },
          })),
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: getSchemaPath(payload) } } },
          },
          responses: {
            '2XX': { description: 'The message is delivered.' },
            '410': { description: 'The webhook is disabled; no further message is sent.' },
            default: { description: 'The message is sent again later.' },
          },
        },
      },
    ]),
  );
}
