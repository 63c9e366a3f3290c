import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';

/** Our environment and, below it, what an `.env` file in the working directory says. */
export function fullEnvironment() {
  const file = resolve('.env');
  return existsSync(file) ? { ...parseEnv(readFileSync(file, 'utf8')), ...process.env } : { ...process.env };
}

const HARMLESS =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|TERM|NODE_ENV|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|NO_COLOR|FORCE_COLOR|NO_PROXY|no_proxy)$/;
/** Where the AWS SDK looks for credentials of this machine; none of these is one. */
const AWS =
  /^AWS_(REGION|DEFAULT_REGION|PROFILE|CONFIG_FILE|SHARED_CREDENTIALS_FILE|ROLE_ARN|ROLE_SESSION_NAME|WEB_IDENTITY_TOKEN_FILE|CONTAINER_CREDENTIALS_FULL_URI|CONTAINER_AUTHORIZATION_TOKEN_FILE)$/;
const PROXY = /^(HTTP|HTTPS|ALL)_PROXY$/i;

/**
 * What the server process gets as its environment. Agents may be able to read it in /proc, so it is a list of what is
 * known to be harmless; settings, secrets among them, go through a descriptor.
 */
export function harmlessEnvironment(environment) {
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name, value]) => HARMLESS.test(name) || AWS.test(name) || (PROXY.test(name) && !value.includes('@')),
    ),
  );
}
