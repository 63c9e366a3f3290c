import { readFileSync } from 'node:fs';
import { SignDelivery, type SignedRequest } from '#domain/webhooks';
import { Settings } from '#platform/config';
import { newUuid, parseUrl } from '#platform/kernel';
import { CommandError, parsed, requiredText, UsageError } from '../cli/command.js';
import { readable } from '../cli/input.js';
import { printResult } from '../cli/output.js';
import { secretsCommand } from '../process/services.js';
import { ingressOrigin } from '../up/connection-file.js';
import { unknownWebhook } from './webhook.js';

const TIMEOUT_MS = 30_000;

/** Posts a file as the sender of a webhook would. Exit code 1 unless the ingress accepts it. */
export const send = secretsCommand({
  argument: 'file',
  options: {
    webhook: requiredText('uid', 'Webhook that receives the delivery.'),
    url: parsed('origin', 'Origin of the ingress, if it is not the public one.', parseOrigin),
    event: parsed(
      'kind',
      'Kind of the event, for GitHub (`issues`) and GitLab (`Issue Hook`), which name it in a header.',
      parseEvent,
    ),
    'delivery-id': parsed('id', 'Delivery id of the sender. Default: a random one.', parseDeliveryId),
  },
  run: async (services, { webhook: webhookUid, ...values }, file) => {
    const deliveryId = values['delivery-id'] ?? newUuid();
    const body = readable(file, () => readFileSync(file));
    const origin = ingressOrigin(services.get(Settings));
    const signed = await services
      .get(SignDelivery)
      .execute({ webhookUid, body, deliveryId, origin, event: values.event ?? null });
    switch (signed.kind) {
      case 'not_found':
        throw unknownWebhook(webhookUid);
      case 'no_secret':
        throw new CommandError('the webhook has no secret yet; set it with `headrace webhook rotate`.');
      case 'no_event_header':
        throw new UsageError('--event is for webhooks with a signature scheme of GitHub or GitLab');
      case 'not_signable':
        throw new CommandError(
          `the file cannot be signed for ${signed.scheme}: only the sender has the key, or the file is not a valid JSON object.`,
        );
      case 'signed':
    }
    const { status, text } = await post(signed, values.url ?? origin);
    const isAccepted = status >= 200 && status < 300;
    process.stderr.write(`Sent with the delivery id ${deliveryId}.\n`);
    const answer = field(text, isAccepted ? 'delivery_id' : 'error') ?? text;
    const data = { status, ...(isAccepted ? { delivery_id: answer } : { error: answer }) };
    printResult(values, data, `${status} ${answer}`);
    return isAccepted ? 0 : 1;
  },
});

/** Posts to the origin of the ingress. The signature covers the public URL, which may have another origin. */
async function post({ url, headers, body }: SignedRequest, origin: string): Promise<{ status: number; text: string }> {
  const { pathname, search } = new URL(url);
  try {
    const response = await fetch(`${origin}${pathname}${search}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/json', 'user-agent': 'headrace-webhook-send', ...headers },
      body: new Uint8Array(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, text: (await response.text()).slice(0, 1000) };
  } catch (error) {
    const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
    // The path may contain a token, so no message shows it.
    throw new CommandError(`the ingress at ${origin} does not answer (${cause?.code ?? 'timeout'}).`);
  }
}

function field(text: string, name: string): string | null {
  try {
    const value: unknown = (JSON.parse(text) as Record<string, unknown> | null)?.[name];
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

function parseOrigin(value: string, option: string): string {
  const url = parseUrl(value);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.username !== '')
    throw new UsageError(`${option} must be an origin such as http://127.0.0.1:3001`);
  return url.origin;
}

function parseEvent(value: string, option: string): string {
  if (!/^[A-Za-z][A-Za-z_ ]{0,63}$/.test(value))
    throw new UsageError(`${option} must be the name of an event, such as issues or "Issue Hook"`);
  return value;
}

function parseDeliveryId(value: string, option: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(value))
    throw new UsageError(`${option} must be 1 to 255 printable ASCII characters without spaces`);
  return value;
}
