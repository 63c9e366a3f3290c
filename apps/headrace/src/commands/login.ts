import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { UsageError, type CommandModule } from '../cli/command.js';
import { printResult } from '../cli/output.js';
import { readSecretFile } from '../cli/read-secret-file.js';
import { connectLauncher } from '../process/launcher.js';
import { ApiClient } from '../remote/api-client.js';
import { assertToken, parseBaseUrl, REMOTE_OPTIONS } from '../remote/connect.js';
import { CredentialsFile } from '../remote/credentials-file.js';

/** Stores the token for this API once the API has accepted it. Commands use both by default from then on. */
export const login: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: REMOTE_OPTIONS });
    const { environment } = await connectLauncher();
    const baseUrl = namedUrl(values.url, environment.HEADRACE_URL);
    if (values['token-file'] === undefined && !process.stdin.isTTY)
      throw new UsageError('--token-file is missing; use - to read the token from standard input');
    const token = (readSecretFile(values['token-file'], '--token-file') ?? (await askToken())).trim();
    assertToken(token);
    await new ApiClient({ baseUrl, token }).request('GET', '/agent/runs?limit=1');
    const credentials = new CredentialsFile(environment);
    credentials.add(baseUrl, token);
    printResult(
      values,
      { base_url: baseUrl, path: credentials.path },
      `Logged in to ${baseUrl}; see ${credentials.path}.`,
    );
    return 0;
  },
};

const LOGOUT_OPTIONS = { json: REMOTE_OPTIONS.json, url: REMOTE_OPTIONS.url } as const;

/** Removes the stored token. The token itself stays valid until it is revoked. */
export const logout: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: LOGOUT_OPTIONS });
    const { environment } = await connectLauncher();
    const credentials = new CredentialsFile(environment);
    const baseUrl = namedUrl(values.url, environment.HEADRACE_URL ?? credentials.currentUrl);
    const removed = credentials.remove(baseUrl);
    const text = removed
      ? `Logged out of ${baseUrl}. The token stays valid until it is revoked.`
      : `No token for ${baseUrl} is stored.`;
    printResult(values, { base_url: baseUrl, removed }, text);
    return 0;
  },
};

function namedUrl(option: string | undefined, otherwise: string | undefined): string {
  const url = option ?? otherwise;
  if (url === undefined || url === '') throw new UsageError('--url is missing');
  return parseBaseUrl(url, option === undefined ? 'HEADRACE_URL' : '--url');
}

/** What is typed is not shown. */
async function askToken(): Promise<string> {
  process.stderr.write('Token: ');
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: hidden, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}
