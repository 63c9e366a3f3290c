import { isSecretName } from '#libs/kernel';
import type { Assignment } from '#libs/runner-protocol';

/** Short values of variables that are only called like a secret are words. */
const MIN_NAMED = 8;

/** Everything in an assignment that must not be seen in what the execution reports. */
export function secretValues({ secrets, repositories, environment, mcp_servers: servers }: Assignment): string[] {
  const named = [
    environment?.env ?? {},
    ...Object.values(servers).flatMap(({ env = {}, headers = {} }) => [env, headers]),
  ].flatMap((record) => Object.entries(record));
  return [
    ...Object.values(secrets ?? {}),
    ...(repositories ?? []).flatMap(({ credential }) => (credential ? [credential.password] : [])),
    ...named
      .filter(([name, value]) => isSecretName(name) && value.length >= MIN_NAMED)
      .flatMap(([, value]) => [value, withoutScheme(value)]),
  ];
}

/** `Bearer abc` → `abc`. */
const withoutScheme = (value: string): string => value.replace(/^(?:Bearer|Basic|Token) +/i, '');
