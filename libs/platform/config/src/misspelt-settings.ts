import { editDistance } from '#platform/kernel';
import type { Environment } from './parse-settings.js';
import { SETTINGS } from './settings.js';

/** More edits than this make another name: environments hold many that are nothing of ours. */
const MAX_EDITS = 2;
/** Shorter names resemble too much: `HOST` and `HOME`. */
const MIN_LENGTH = 8;

export interface MisspeltSetting {
  /** As it is in the environment, where nothing reads it. */
  readonly given: string;
  readonly meant: string;
}

/** First letters are rarely wrong: `SSL_CERT_FILE` is not `TLS_CERT_FILE`. */
const resembles = (given: string, name: string): boolean =>
  editDistance(given, name) <= (given[0] === name[0] ? MAX_EDITS : 1);

/** Variables that resemble a setting and are none, such as `MAX_CONCURENT_RUNS`. */
export function findMisspeltSettings(environment: Environment): MisspeltSetting[] {
  const known = Object.values(SETTINGS).map(({ env }) => env);
  return Object.keys(environment)
    .filter((name) => name.length >= MIN_LENGTH && name.includes('_') && !known.includes(name))
    .flatMap((given) => {
      const meant = known.find((name) => resembles(given.toUpperCase(), name));
      return meant === undefined ? [] : [{ given, meant }];
    });
}
