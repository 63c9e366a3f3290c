import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Settings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import { type SignedDelivery, SignDelivery } from '#domain/webhooks';
import { onlyPositional, required } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { OUTPUT_OPTIONS, printResult } from '../cli/output.js';
import { ingressOrigin } from '../process/ingress-origin.js';
import { withSecrets } from '../process/with-secrets.js';
import { unknownWebhook } from './webhook.js';

const TIMEOUT_MS = 30_000;
const OPTIONS = {
  ...OUTPUT_OPTIONS,
  webhook: { type: 'string' },
  url: { type: 'string' },
  'delivery-id': { type: 'string' },
} as const;

/** Posts a file as the webhook's sender would. Exit code 1 unless the ingress takes it. */
export const send: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const file = onlyPositional('file', positionals);
    const webhookUid = required('webhook', values.webhook);
    const target = values.url === undefined ? null : parseOrigin(values.url);
    const deliveryId = parseDeliveryId(values['delivery-id'] ?? newUuid());
    const body = readBody(file);
    const [signed, origin] = await withSecrets(async (services) => {
      const publicOrigin = ingressOrigin(services.get(Settings));
      const result = await services.get(SignDelivery).execute({ webhookUid, body, deliveryId, origin: publicOrigin });
      switch (result.kind) {
        case 'unknown':
          throw unknownWebhook(webhookUid);
        case 'no_secret':
          throw new CommandError('the webhook has no secret yet; `headrace webhook rotate` supplies it.');
        case 'not_signable':
          throw new CommandError(
            `this cannot be signed for ${result.scheme}: only the sender has the key, or the file is no JSON object that it could send.`,
          );
        case 'signed':
          return [result, target ?? publicOrigin] as const;
      }
    });
    const { status, text } = await post(signed, origin);
    const isAccepted = status >= 200 && status < 300;
    process.stderr.write(`Sent as delivery ${deliveryId} of the sender.\n`);
    const answer = field(text, isAccepted ? 'delivery_id' : 'error') ?? text;
    const data = { status, ...(isAccepted ? { delivery_id: answer } : { error: answer }) };
    printResult(values, data, `${status} ${answer}`);
    return isAccepted ? 0 : 1;
  },
};

/** To where the ingress is; what is signed is the public address, which may be another one. */
async function post({ url, headers, body }: SignedDelivery, origin: string): Promise<{ status: number; text: string }> {
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
    // Neither message names the path, which may hold a token.
    throw new CommandError(`the ingress at ${origin} does not answer (${cause?.code ?? 'no answer in time'}).`);
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
    throw new UsageError('--delivery-id must be of 1 to 255 printable ASCII characters without spaces');
  return value;
}
