import { isSecretName } from '#platform/kernel';
import type { Assignment } from '#execution/runner-protocol';

/** Short values of variables that are only called like a secret are words. */
const MIN_NAMED = 8;

/** Everything in an assignment, and in what the harness sets, that must not be seen in what the execution reports. */
export function secretValues(assignment: Assignment, harnessEnv: Readonly<Record<string, string>> = {}): string[] {
  const { secrets, agent_secrets: ofAgent, repositories, environment, mcp_servers: servers } = assignment;
  const named = [
    harnessEnv,
    environment?.env ?? {},
    ...Object.values(servers).flatMap(({ env = {}, headers = {} }) => [env, headers]),
  ].flatMap((record) => Object.entries(record));
  return [
    ...Object.values(secrets ?? {}),
    ...Object.values(ofAgent?.variables ?? {}),
    ...(ofAgent?.auth === undefined ? [] : [ofAgent.auth]),
    ...(repositories ?? []).flatMap(({ credential }) => (credential ? [credential.password] : [])),
    ...named
      .filter(([name, value]) => isSecretName(name) && value.length >= MIN_NAMED)
      .flatMap(([, value]) => [value, withoutScheme(value)]),
  ];
}

/** `Bearer abc` → `abc`. */
const withoutScheme = (value: string): string => value.replace(/^(?:Bearer|Basic|Token) +/i, '');
