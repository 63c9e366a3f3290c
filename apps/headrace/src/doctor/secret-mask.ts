import { MASKED } from '#platform/kernel';

/** Address and database of a URL, without user, password and parameters: any of them may be a secret. */
export function locationOf(url: string): string {
  if (!URL.canParse(url)) return 'an unreadable address';
  const { protocol, host, pathname } = new URL(url);
  // A Unix socket's directory is percent-encoded.
  return `${protocol}//${decoded(host)}${pathname === '/' ? '' : pathname}`;
}

const SHORTEST_SECRET = 4;

/** Takes every secret out of a text, whoever quoted it. */
export class SecretMask {
  private readonly secrets: readonly string[];

  constructor(secrets: readonly (string | null | undefined)[], urls: readonly (string | undefined)[]) {
    const passwords = urls.flatMap((url) => {
      if (url === undefined || !URL.canParse(url)) return [];
      const { password } = new URL(url);
      return [password, decoded(password)];
    });
    this.secrets = [...secrets, ...passwords]
      .flatMap((secret) => (secret && secret.length >= SHORTEST_SECRET ? [secret] : []))
      // The longer ones first: one may hold another.
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
