import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { WebhooksModule } from '#domain/webhooks';
import { type Settings, withSettings } from '#platform/config';
import { sqlState } from '#platform/persistence';
import { byTable, KeyRotation, SealBrokenError, SecretBox, SecretsModule } from '#platform/secrets';
import { ENCRYPTED_COLUMNS } from '../../process/encrypted-columns.js';
import { withInstallationKeys } from '../../process/prepare-settings.js';
import { withServices } from '../../process/services.js';
import { type CheckResult, type DoctorCheck, fail, ok, reasonOf, warn } from '../check-result.js';

/** Enough values of each table to know whether the key is correct. `headrace secrets rotate-key` checks all. */
const VALUES_PER_TABLE = 20;

export const secretsKeyCheck: DoctorCheck = {
  name: 'secrets key',
  uses: ['SECRETS_KEY', 'SECRETS_KEY_PREVIOUS', 'DATABASE_URL', 'HEADRACE_DATA_DIR'],
  examine: async ({ settings: given, database }) => {
    const file = join(given.dataDir, 'secrets', 'secrets-key');
    let settings: Settings;
    try {
      settings = withInstallationKeys(given, given.dataDir, { generates: false });
    } catch (error) {
      return fail(`${file} cannot be read (${reasonOf(error)})`, 'Run the doctor as the user of Headrace.');
    }
    const state = await database.open();
    const url = state.kind === 'open' ? state.url : null;
    if (settings.secretsKey === undefined) return withoutKey(settings, url);
    const from = given.secretsKey === undefined ? `from ${file}` : 'from SECRETS_KEY';
    const results = given.secretsKey === undefined ? await checkKeyFile(file) : [];
    if (url === null) return [ok(`${from}; not tested, because the database is not available`), ...results];
    const { opened, broken } = await tryKey(settings, url);
    if (broken.length === 0) return [ok(`${from}, decrypts stored values (${opened} checked)`), ...results];
    return [fail(`${from}, does not decrypt values in ${broken.join(', ')}`, ...WRONG_KEY), ...results];
  },
};

const WRONG_KEY = [
  'Set SECRETS_KEY to the previous key of this installation, or add that key to SECRETS_KEY_PREVIOUS.',
  'Values that no key decrypts must be set again; see docs/operations/secrets.md.',
];

async function withoutKey(settings: Settings, url: string | null): Promise<CheckResult> {
  // No stored value can be decrypted with a random key, so every table with values is reported.
  const randomKey = withSettings(settings, { secretsKey: randomBytes(32).toString('base64url') });
  const { broken } = url === null ? { broken: [] } : await tryKey(randomKey, url);
  if (broken.length > 0) return fail(`no key, but there are encrypted values in ${broken.join(', ')}`, ...WRONG_KEY);
  if (settings.databaseUrl === undefined) return ok('none yet; generated at the first start');
  return warn(
    'none yet; generated at the first start, only for this data directory',
    'Set SECRETS_KEY to the same value for every process, such as the output of `openssl rand -base64 32`.',
  );
}

async function checkKeyFile(file: string): Promise<CheckResult[]> {
  const { mode } = await stat(file);
  return (mode & 0o077) === 0 ? [] : [warn(`other users can read ${file}`, `chmod 600 ${file}`)];
}

class EnoughChecked extends Error {}

async function tryKey(settings: Settings, databaseUrl: string): Promise<{ opened: number; broken: string[] }> {
  return withServices(
    withSettings(settings, { databaseUrl }),
    async (services) => {
      const box = services.get(SecretBox);
      let opened = 0;
      const broken: string[] = [];
      for (const [table, columns] of byTable(ENCRYPTED_COLUMNS)) {
        let [tried, failed] = [0, 0];
        try {
          const tryValue = (sealed: string, purpose: string): null => {
            if ((tried += 1) > VALUES_PER_TABLE) throw new EnoughChecked();
            try {
              box.open(sealed, purpose);
            } catch (error) {
              if (error instanceof SealBrokenError) failed += 1;
              throw error;
            }
            opened += 1;
            return null;
          };
          for (const column of columns) await services.get(KeyRotation).reencrypt(column, tryValue);
        } catch (error) {
          // Another check reports a database without this table or column, which is not migrated.
          const isBehind = sqlState(error) === '42P01' || sqlState(error) === '42703';
          if (!(error instanceof EnoughChecked) && !isBehind) throw error;
        }
        if (failed > 0) broken.push(table);
      }
      return { opened, broken };
    },
    [SecretsModule, WebhooksModule],
  );
}
