import { readFileSync } from 'node:fs';
import { SignDelivery, type SignedRequest } from '#domain/webhooks';
import { Settings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import { command, CommandError, requiredText, text, UsageError } from '../cli/command.js';
import { printResult } from '../cli/output.js';
import { OUTPUT_OPTIONS } from '../cli/shared-options.js';
import { withSecrets } from '../process/with-secrets.js';
import { ingressOrigin } from '../up/connection-file.js';
import { unknownWebhook } from './webhook.js';

const TIMEOUT_MS = 30_000;
const OPTIONS = {
  webhook: requiredText('uid', 'Webhook that receives the delivery.'),
  url: text('origin', 'Origin of the ingress, if it is not the public one.'),
  'delivery-id': text('id', 'Delivery id of the sender. Default: a random one.'),
  ...OUTPUT_OPTIONS,
};

/** Posts a file as the sender of a webhook would. Exit code 1 unless the ingress accepts it. */
export const send = command({
  argument: 'file',
  options: OPTIONS,
  run: async (values, file) => {
    const webhookUid = values.webhook;
    const target = values.url === undefined ? null : parseOrigin(values.url);
    const deliveryId = parseDeliveryId(values['delivery-id'] ?? newUuid());
    const body = readBody(file);
    const [signed, origin] = await withSecrets(async (services) => {
      const publicOrigin = ingressOrigin(services.get(Settings));
      const result = await services.get(SignDelivery).execute({ webhookUid, body, deliveryId, origin: publicOrigin });
      switch (result.kind) {
        case 'not_found':
          throw unknownWebhook(webhookUid);
        case 'no_secret':
          throw new CommandError('the webhook has no secret yet; set it with `headrace webhook rotate`.');
        case 'not_signable':
          throw new CommandError(
            `the file cannot be signed for ${result.scheme}: only the sender has the key, or the file is not a valid JSON object.`,
          );
        case 'signed':
          return [result, target ?? publicOrigin] as const;
      }
    });
    const { status, text } = await post(signed, origin);
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

function readBody(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`${file} cannot be read (${code ?? 'unknown'}).`);
  }
}

function parseOrigin(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.username !== '')
    throw new UsageError('--url must be an origin such as http://127.0.0.1:3001');
  return url.origin;
}

function parseDeliveryId(value: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(value))
    throw new UsageError('--delivery-id must be 1 to 255 printable ASCII characters without spaces');
  return value;
}
