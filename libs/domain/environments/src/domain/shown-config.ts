import { MASKED } from '#platform/kernel';
import type { EnvironmentConfig } from './environment.js';

/** As responses show it: values of `env` masked, and so are logins in URLs, which earlier versions took. */
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
