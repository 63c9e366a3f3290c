export const MASKED = '***';
const MAX_DEPTH = 64;

/** Keys that hold a credential by their name: `token`, `db_password`, `X-Api-Key`, `Authorization`, but not `max_tokens`. */
const SECRET_KEY =
  /(^|[^a-z])(password|passwd|passphrase|secret|secret[_-]?key|token|api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|authorization|cookie|credentials?)$/i;
/** `apiKey`, `accessToken`. */
const SECRET_CAMEL_KEY =
  /[a-z](Password|Secret|Token|ApiKey|AccessKey|PrivateKey|Credentials?)$|^(apiKey|accessKey|privateKey|secretKey)$/;
/** Whether what is called so holds a credential: `DB_PASSWORD`, `apiKey`. */
export const isSecretName = (name: string): boolean => SECRET_KEY.test(name) || SECRET_CAMEL_KEY.test(name);

/** All values of these are secret, whatever their keys. */
const SECRET_MAPS = new Set(['env', 'headers']);
const URL_CREDENTIALS = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@:]{0,200}:[^\s/@]{1,200}@/gi;

/**
 * A copy of a JSON value without what its shape gives away as secret: values under credential-like keys, all values of
 * `env` and `headers`, and passwords in URLs. The last net for what is shown, not a substitute for never recording one.
 */
export function maskSecrets(value: unknown): unknown {
  return mask(value, false, 0);
}

function mask(node: unknown, inSecretMap: boolean, depth: number): unknown {
  if (typeof node === 'string') return inSecretMap ? MASKED : node.replace(URL_CREDENTIALS, `$1${MASKED}@`);
  if (typeof node !== 'object' || node === null) return node;
  if (depth >= MAX_DEPTH) return null;
  if (Array.isArray(node)) return node.map((item) => mask(item, inSecretMap, depth + 1));
  return Object.fromEntries(
    Object.entries(node).map(([key, item]) => {
      const isSecret = typeof item === 'string' && isSecretName(key);
      return [key, isSecret ? MASKED : mask(item, inSecretMap || SECRET_MAPS.has(key), depth + 1)];
    }),
  );
}
