import { parseSettings } from '#platform/config';
import { CommandError, UsageError } from '../cli/command.js';
import { OUTPUT_OPTIONS, type OutputValues } from '../cli/output.js';
import { readSecretFile } from '../cli/read-secret-file.js';
import { connectLauncher } from '../process/launcher.js';
import { ConnectionFile } from '../up/connection-file.js';
import { ApiClient } from './api-client.js';
import { CredentialsFile } from './credentials-file.js';

/** Options of every command that calls the API. */
export const REMOTE_OPTIONS = { ...OUTPUT_OPTIONS, url: { type: 'string' }, 'token-file': { type: 'string' } } as const;

export interface RemoteValues extends OutputValues {
  readonly url?: string;
  readonly 'token-file'?: string;
}

const API_PREFIX = '/api/v1';

/**
 * The API that --url or HEADRACE_URL names, else the running `headrace up` of the data directory, else the one of the last
 * `headrace login`, else the one of this machine. The token is that of --token-file or HEADRACE_TOKEN, else the one that
 * `up` or `login` stored for this very address.
 */
export async function connect(values: RemoteValues): Promise<ApiClient> {
  const { environment } = await connectLauncher();
  const url = values.url ?? (environment.HEADRACE_URL || undefined);
  const asked = url === undefined ? undefined : parseBaseUrl(url, values.url === undefined ? 'HEADRACE_URL' : '--url');
  const inFile = readSecretFile(values['token-file'], '--token-file')?.trim();
  // An empty file is a secret that was not filled in: another stored token would be somebody else's.
  if (inFile === '') throw new CommandError('the file that --token-file names is empty.');
  const given = inFile ?? environment.HEADRACE_TOKEN?.trim();
  const settings = parseSettings(environment);
  const running = new ConnectionFile(settings.dataDir).read();
  const credentials = new CredentialsFile(environment);
  const baseUrl =
    asked ?? running.base_url ?? credentials.currentUrl ?? `http://127.0.0.1:${settings.port}${API_PREFIX}`;
  // A stored token is for its own address and for no other.
  const stored = baseUrl === running.base_url ? running.token : credentials.tokenFor(baseUrl);
  const token = given || stored;
  if (token === undefined || token === '')
    throw new CommandError(
      'a token is needed: run `headrace login`, set HEADRACE_TOKEN, or name a file with --token-file.',
    );
  assertToken(token);
  return new ApiClient({ baseUrl, token });
}

export function assertToken(token: string): void {
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CommandError('invalid token: contains illegal characters.');
}

/** What --url names, ending in `/api/v1`. */
export function parseBaseUrl(value: string, name = '--url'): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  const path = url?.pathname.replace(/\/$/, '');
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && (path === '' || path === API_PREFIX);
  if (!isOrigin || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
    throw new UsageError(`${name} must be an origin such as http://127.0.0.1:3000`);
  return `${url.origin}${API_PREFIX}`;
}
