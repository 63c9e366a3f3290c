import { join } from 'node:path';
import { ensurePrivateDir, persistedSecret, readIfPresent, type Settings, withSettings } from '#platform/config';

/**
 * The settings with this installation's keys: SECRETS_KEY, else the one that was generated into the data directory. A
 * key that an operator has put aside as `secrets-key.previous` still opens, like those of SECRETS_KEY_PREVIOUS.
 *
 * `generates`: makes a key where there is none. Without, that leaves `secretsKey` unset.
 */
export function withInstallationKeys(
  settings: Settings,
  dataDir: string,
  { generates }: { readonly generates: boolean },
): Settings {
  const file = join(dataDir, 'secrets', 'secrets-key');
  const putAside = readIfPresent(`${file}.previous`)?.trim();
  const generated = (): string | undefined => {
    // Where one was put aside, a new one is wanted, and whoever comes first makes it.
    if (!generates && !putAside) return readIfPresent(file)?.trim() || undefined;
    ensurePrivateDir(dataDir, 'secrets');
    return persistedSecret(file);
  };
  return withSettings(settings, {
    dataDir,
    secretsKey: settings.secretsKey ?? generated(),
    secretsKeyPrevious: [...settings.secretsKeyPrevious, ...(putAside ? [putAside] : [])],
  });
}
