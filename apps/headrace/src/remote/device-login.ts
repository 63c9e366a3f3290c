import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { CommandError } from '../cli/command.js';
import { printable } from '../cli/output.js';

const CLIENT_ID = 'headrace';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const TIMEOUT_MS = 30_000;
/** What RFC 8628 adds to the interval when the server asks to slow down. */
const SLOW_DOWN_SECONDS = 5;
const MAX_HOST_NAME = 60;

interface Started {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

/** A token that the user approves in a browser (RFC 8628). `show` gets the address and the code for the user. */
export async function loginByDevice(
  baseUrl: string,
  show: (started: Pick<Started, 'user_code' | 'verification_uri' | 'verification_uri_complete'>) => void,
): Promise<string> {
  const name = `headrace on ${hostname()
    .replaceAll(/[^\x20-\x7e]/g, '')
    .slice(0, MAX_HOST_NAME)}`;
  const answer = await post(baseUrl, 'device_authorization', { client_id: CLIENT_ID, client_name: name });
  if (!isStarted(answer.body))
    throw new CommandError(
      answer.status === 404
        ? `the server at ${baseUrl} does not offer this: use --with-token.`
        : `the API did not start the login (${answer.status}): ${answer.description}`,
    );
  const { device_code: deviceCode, expires_in: expiresIn, interval } = answer.body;
  show(answer.body);
  const endsAt = performance.now() + expiresIn * 1000;
  for (let seconds = interval; performance.now() < endsAt;) {
    await wait(seconds * 1000);
    const form = { grant_type: GRANT_TYPE, device_code: deviceCode, client_id: CLIENT_ID };
    const { status, body, description } = await post(baseUrl, 'token', form).catch(lostConnection);
    if (status === 200 && typeof body.access_token === 'string') return body.access_token;
    if (body.error === 'access_denied') throw new CommandError('the login was denied in the console.');
    if (body.error === 'expired_token') break;
    if (body.error === 'slow_down') seconds += SLOW_DOWN_SECONDS;
    else if (body.error !== 'authorization_pending')
      throw new CommandError(`the API rejected the login (${status}): ${description}`);
  }
  throw new CommandError('nobody approved the login in time: run the command again.');
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly description: string;
}

async function post(baseUrl: string, path: string, form: Record<string, string>): Promise<Answer> {
  const response = await fetch(`${baseUrl}/oauth/${path}`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(form),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause: unknown) => {
    throw new CommandError(`the API at ${baseUrl} cannot be reached.`, { cause });
  });
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const { error_description: text, detail } = body;
  const reason = [text, detail].find((given) => typeof given === 'string') ?? 'no reason was given.';
  const description = printable(reason);
  return { status: response.status, body, description };
}

/** While the user decides, the server may be restarted: the program continues to ask, more slowly. */
const lostConnection = (): Answer => ({ status: 0, body: { error: 'slow_down' }, description: '' });

function isStarted(body: Answer['body']): body is Answer['body'] & Started {
  const texts = ['device_code', 'user_code', 'verification_uri', 'verification_uri_complete'];
  return (
    texts.every((field) => typeof body[field] === 'string') &&
    ['expires_in', 'interval'].every((field) => Number(body[field]) > 0)
  );
}
