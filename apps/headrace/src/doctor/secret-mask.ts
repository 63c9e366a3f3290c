import { MASKED, parseUrl } from '#platform/kernel';

/** Host and database of a URL. User, password and parameters may be secrets. */
export function locationOf(url: string): string {
  const parsed = parseUrl(url);
  if (parsed === null) return 'an invalid URL';
  const { protocol, host, pathname } = parsed;
  // The directory of a Unix socket is percent-encoded.
  return `${protocol}//${decoded(host)}${pathname === '/' ? '' : pathname}`;
}

const MIN_SECRET_LENGTH = 4;

export class SecretMask {
  private readonly secrets: readonly string[];

  constructor(secrets: readonly (string | null | undefined)[], urls: readonly (string | undefined)[]) {
    const passwords = urls.flatMap((url) => {
      const password = parseUrl(url ?? '')?.password ?? '';
      return [password, decoded(password)];
    });
    this.secrets = [...secrets, ...passwords]
      .flatMap((secret) => (secret && secret.length >= MIN_SECRET_LENGTH ? [secret] : []))
      // Longer secrets first, because one may contain another.
      .sort((one, other) => other.length - one.length);
  }

  mask(text: string): string {
    return this.secrets.reduce((masked, secret) => masked.replaceAll(secret, MASKED), text);
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
