import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { command, flag, text, UsageError } from '../cli/command.js';
import { readSecretFile } from '../cli/input.js';
import { printable, printResult } from '../cli/output.js';
import { REMOTE_OPTIONS } from '../cli/shared-options.js';
import { connectLauncher } from '../process/launcher.js';
import { ApiClient } from '../remote/api-client.js';
import { loginByDevice } from '../remote/device-login.js';
import { apiCommand, assertToken, CredentialsFile, parseBaseUrl } from '../remote/connect.js';

/**
 * Stores a token after the API has accepted it: one that the user approves in the console, or that is given. Further
 * commands use this API and token by default.
 */
export const login = command({
  options: {
    ...REMOTE_OPTIONS,
    'with-token': flag('Ask for a token, instead of an approval in the console.'),
  },
  run: async (values) => {
    const { environment } = await connectLauncher();
    const baseUrl = namedUrl(values.url, environment.HEADRACE_URL);
    if (values['token-file'] === undefined && !process.stdin.isTTY)
      throw new UsageError(
        'standard input is not a terminal, so that nobody can approve the login: use --token-file, with - for standard input',
      );
    const token = (
      readSecretFile(values['token-file'], '--token-file') ??
      (values['with-token'] ? await askToken() : await loginByDevice(baseUrl, showCode))
    ).trim();
    assertToken(token);
    await new ApiClient(() => Promise.resolve({ baseUrl, token })).get('/agent/runs?limit=1');
    const credentials = new CredentialsFile(environment);
    credentials.add(baseUrl, token);
    const { path } = credentials;
    printResult(values, { base_url: baseUrl, path }, `Logged in to ${baseUrl}; see ${path}.`);
  },
});

/** On standard error, so that --json prints the result alone. */
function showCode(login: { readonly user_code: string; readonly verification_uri_complete: string }): void {
  process.stderr.write(
    `Open ${printable(login.verification_uri_complete)}\nand compare the code there: ${printable(login.user_code)}\nWaiting for your approval …\n`,
  );
}

/** The link opens the console as the user of the token, or as another one. */
export const loginLink = apiCommand({
  options: { user: text('uid', 'Another user, for administrators of the installation. Default: you.') },
  run: async (api, { user, ...values }) => {
    const link = await api.post<{ url: string; expires_at: string }>(
      '/login-links',
      user === undefined ? {} : { user_uid: user },
    );
    process.stderr.write(`The link can be used once, until ${new Date(link.expires_at).toLocaleTimeString()}.\n`);
    printResult(values, { ...link }, link.url);
  },
});

/** Removes the stored token. The token itself stays valid until it is revoked. */
export const logout = command({
  options: { url: REMOTE_OPTIONS.url, json: REMOTE_OPTIONS.json },
  run: async (values) => {
    const { environment } = await connectLauncher();
    const credentials = new CredentialsFile(environment);
    const baseUrl = namedUrl(values.url, environment.HEADRACE_URL ?? credentials.currentUrl);
    const removed = credentials.remove(baseUrl);
    const text = removed
      ? `Logged out of ${baseUrl}. The token stays valid until it is revoked.`
      : `No token for ${baseUrl} is stored.`;
    printResult(values, { base_url: baseUrl, removed }, text);
  },
});

function namedUrl(option: string | undefined, otherwise: string | undefined): string {
  const url = option ?? otherwise;
  if (url === undefined || url === '') throw new UsageError('--url is missing');
  return parseBaseUrl(url, option === undefined ? 'HEADRACE_URL' : '--url');
}

/** Reads the token from the terminal without echo. */
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
