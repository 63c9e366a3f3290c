import { MASKED } from '#platform/kernel';

/** Host and database of a URL. User, password and parameters may be secrets. */
export function locationOf(url: string): string {
  if (!URL.canParse(url)) return 'an invalid URL';
  const { protocol, host, pathname } = new URL(url);
  // The directory of a Unix socket is percent-encoded.
  return `${protocol}//${decoded(host)}${pathname === '/' ? '' : pathname}`;
}

const MIN_SECRET_LENGTH = 4;

export class SecretMask {
  private readonly secrets: readonly string[];

  constructor(secrets: readonly (string | null | undefined)[], urls: readonly (string | undefined)[]) {
    const passwords = urls.flatMap((url) => {
      if (url === undefined || !URL.canParse(url)) return [];
      const { password } = new URL(url);
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
