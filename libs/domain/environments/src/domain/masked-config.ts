import { MASKED, pointerOf, type RejectionOf } from '#platform/kernel';
import type { EnvironmentConfig } from './environment.js';

/** The configuration as responses show it: values of `env` and logins in URLs, which earlier versions stored, are masked. */
export function shownConfig(config: EnvironmentConfig): EnvironmentConfig {
  const { env, git_repos: repositories } = config;
  return {
    ...config,
    ...(env && { env: Object.fromEntries(Object.keys(env).map((name) => [name, MASKED])) }),
    ...(repositories && { git_repos: repositories.map((one) => ({ ...one, url: withoutLogin(one.url) })) }),
  };
}

const withoutLogin = (url: string): string =>
  url.replace(/^([a-z][a-z0-9+.-]*:\/\/)([^/]*)@/i, (whole, scheme: string, login: string) =>
    /^ssh:/i.test(scheme) && !login.includes(':') ? whole : `${scheme}${MASKED}@`,
  );

/** The configuration with the stored values in place of `***`, which is what responses show of `env`. */
export function keepValues(
  config: EnvironmentConfig,
  stored: EnvironmentConfig,
): { readonly kind: 'complete'; readonly config: EnvironmentConfig } | RejectionOf<'invalid'> {
  if (config.env === undefined) return { kind: 'complete', config };
  const old = new Map(Object.entries(stored.env ?? {}));
  const entries = Object.entries(config.env);
  const missing = entries.filter(([name, value]) => value === MASKED && !old.has(name));
  if (missing.length > 0) {
    const detail = `must be sent in clear: ${MASKED} keeps a stored value, and none is stored`;
    return {
      kind: 'invalid',
      issues: missing.map(([name]) => ({ pointer: pointerOf('config', 'env', name), detail })),
    };
  }
  const env = Object.fromEntries(
    entries.map(([name, value]) => [name, value === MASKED ? (old.get(name) ?? '') : value]),
  );
  return { kind: 'complete', config: { ...config, env } };
}
