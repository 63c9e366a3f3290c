import { rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseUrl } from '#platform/kernel';
import { ensurePrivateDir, type Environment, parseSettings, readIfPresent, writePrivateFile } from '#platform/config';
import { commandKind, CommandError, UsageError } from '../cli/command.js';
import { readSecretFile } from '../cli/input.js';
import { REMOTE_OPTIONS, type RemoteValues } from '../cli/shared-options.js';
import { connectLauncher } from '../process/launcher.js';
import { ConnectionFile } from '../up/connection-file.js';
import { ApiClient, type Connection } from './api-client.js';

const API_PREFIX = '/api/v1';

/**
 * The API of --url or HEADRACE_URL, else of the running `headrace up` of the data directory, else of the last
 * `headrace login`, else of this machine. The token comes from --token-file or HEADRACE_TOKEN, else from what `up` or
 * `login` stored for the same address.
 */
async function findConnection(values: Pick<RemoteValues, 'url' | 'token-file'>): Promise<Connection> {
  const { environment } = await connectLauncher();
  const url = values.url ?? (environment.HEADRACE_URL || undefined);
  const asked = url === undefined ? undefined : parseBaseUrl(url, values.url === undefined ? 'HEADRACE_URL' : '--url');
  const inFile = readSecretFile(values['token-file'], '--token-file')?.trim();
  // An empty file is a secret that was never filled in; a stored token could belong to another user.
  if (inFile === '') throw new CommandError('--token-file: the file is empty.');
  const given = inFile ?? environment.HEADRACE_TOKEN?.trim();
  const settings = parseSettings(environment);
  const running = new ConnectionFile(settings.dataDir).read();
  const credentials = new CredentialsFile(environment);
  const baseUrl =
    asked ?? running.base_url ?? credentials.currentUrl ?? `http://127.0.0.1:${settings.port}${API_PREFIX}`;
  // A stored token must not be sent to another address.
  const stored = baseUrl === running.base_url ? running.token : credentials.tokenFor(baseUrl);
  const token = given || stored;
  if (token === undefined || token === '')
    throw new CommandError('a token is required: run `headrace login`, set HEADRACE_TOKEN, or use --token-file.');
  assertToken(token);
  return { baseUrl, token };
}

export const connect = (values: Pick<RemoteValues, 'url' | 'token-file'>): ApiClient =>
  new ApiClient(() => findConnection(values));

export const apiCommand = commandKind(REMOTE_OPTIONS, (values, work: (api: ApiClient) => Promise<number | void>) =>
  work(connect(values)),
);

export function assertToken(token: string): void {
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CommandError('invalid token: contains illegal characters.');
}

export function parseBaseUrl(value: string, name = '--url'): string {
  const url = parseUrl(value);
  const path = url?.pathname.replace(/\/$/, '');
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && (path === '' || path === API_PREFIX);
  if (!isOrigin || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
    throw new UsageError(`${name} must be an origin such as http://127.0.0.1:3000`);
  return `${url.origin}${API_PREFIX}`;
}

interface Credentials {
  /** Base URL of the last login. */
  readonly current?: string;
  /** Base URL → token. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** The tokens that `headrace login` stores, readable by the user only. */
export class CredentialsFile {
  private readonly directory: string;
  readonly path: string;

  constructor(environment: Environment) {
    this.directory = environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config');
    this.path = join(this.directory, 'headrace', 'credentials.json');
  }

  get currentUrl(): string | undefined {
    return this.read().current;
  }

  tokenFor(baseUrl: string): string | undefined {
    return this.read().tokens[baseUrl];
  }

  /** Stores the token. Commands call this API by default from then on. */
  add(baseUrl: string, token: string): void {
    ensurePrivateDir(this.directory, 'headrace');
    this.write({ current: baseUrl, tokens: { ...this.read().tokens, [baseUrl]: token } });
  }

  remove(baseUrl: string): boolean {
    const { current, tokens } = this.read();
    const { [baseUrl]: removed, ...others } = tokens;
    if (removed === undefined) return false;
    const [next] = Object.keys(others);
    const left = current === baseUrl ? next : current;
    if (left === undefined) rmSync(this.path, { force: true });
    else this.write({ current: left, tokens: others });
    return true;
  }

  private write(credentials: Credentials): void {
    writePrivateFile(this.path, `${JSON.stringify(credentials, null, 2)}\n`);
  }

  private read(): Credentials {
    const text = readIfPresent(this.path);
    if (text === null) return { tokens: {} };
    try {
      const { current, tokens } = JSON.parse(text) as Partial<Credentials>;
      return { ...(current !== undefined && { current }), tokens: tokens ?? {} };
    } catch {
      throw new CommandError(`${this.path} is not valid JSON: remove it and run \`headrace login\` again.`);
    }
  }
}
