import { parseSettings } from '#libs/config';
import { CommandError, UsageError } from '../cli/command.js';
import { readSecretFile } from '../cli/read-secret-file.js';
import { connectLauncher } from '../process/launcher.js';
import { ConnectionFile } from '../up/connection-file.js';
import { ApiClient } from './api-client.js';

/** Options of every command that asks the API. */
export const REMOTE_OPTIONS = { url: { type: 'string' }, 'token-file': { type: 'string' } } as const;

export interface RemoteValues {
  readonly url?: string;
  readonly 'token-file'?: string;
}

const API_PREFIX = '/api/v1';

/**
 * The API that --url or HEADRACE_URL names, else the running `headrace up` of the data directory, else the one of this
 * machine; with the token of --token-file, of HEADRACE_TOKEN, or the one that `up` has left for its own address.
 */
export async function connect(values: RemoteValues): Promise<ApiClient> {
  const { environment } = await connectLauncher();
  const url = values.url ?? (environment.HEADRACE_URL || undefined);
  const asked = url === undefined ? null : parseBaseUrl(url, values.url === undefined ? 'HEADRACE_URL' : '--url');
  const given = readSecretFile(values['token-file'], '--token-file') ?? environment.HEADRACE_TOKEN ?? null;
  const settings = parseSettings(environment);
  const running = new ConnectionFile(settings.dataDir).read();
  const baseUrl = asked ?? running.base_url ?? `http://127.0.0.1:${settings.port}${API_PREFIX}`;
  // It is for that address and no other.
  const left = baseUrl === running.base_url ? running.token : undefined;
  const token = given?.trim() || left;
  if (token === undefined || token === '')
    throw new CommandError('a token is needed: set HEADRACE_TOKEN, or name a file with --token-file.');
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CommandError('the token is none: it has characters that no token has.');
  return new ApiClient({ baseUrl, token });
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
