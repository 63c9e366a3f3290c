import { MASKED } from '#platform/kernel';
import type { EnvironmentConfig } from './environment.js';

export type Keeping =
  | { readonly kind: 'complete'; readonly config: EnvironmentConfig }
  /** Names of variables that are to keep a value that is not there. */
  | { readonly kind: 'nothing_to_keep'; readonly names: readonly string[] };

/** The configuration with stored values where `***` stands, which is what responses show of `env`. */
export function keepValues(config: EnvironmentConfig, stored: EnvironmentConfig): Keeping {
  if (config.env === undefined) return { kind: 'complete', config };
  const old = new Map(Object.entries(stored.env ?? {}));
  const entries = Object.entries(config.env);
  const names = entries.flatMap(([name, value]) => (value === MASKED && !old.has(name) ? [name] : []));
  if (names.length > 0) return { kind: 'nothing_to_keep', names };
  const env = Object.fromEntries(
    entries.map(([name, value]) => [name, value === MASKED ? (old.get(name) ?? '') : value]),
  );
  return { kind: 'complete', config: { ...config, env } };
}
