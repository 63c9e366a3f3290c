import { createServer } from 'node:net';
import { join } from 'node:path';
import {
  ensureDataDir,
  ensurePrivateDir,
  type Environment,
  hasLocalRunnerApi,
  parseSettings,
  persistedSecret,
  readIfPresent,
  type Settings,
  withSettings,
} from '#platform/config';

/**
 * Settings that are complete for a process of this installation: free ports chosen where 0 was asked, public addresses
 * that follow from them, and the secrets key that was generated once. Throws a SettingsError.
 */
export async function prepareSettings(environment: Environment): Promise<Settings> {
  const settings = await withRealPorts(environment);
  return withInstallationKeys(settings, ensureDataDir(settings.dataDir), { generates: true });
}

/** Addresses are derived from ports while settings are read, so chosen ports go in as if they had been given. */
async function withRealPorts(environment: Environment): Promise<Settings> {
  const given = parseSettings(environment);
  const chosen: Record<string, string> = {};
  if (given.port === 0) chosen.PORT = String(await freePort(given.host));
  do {
    if (given.ingressPort === 0) chosen.INGRESS_PORT = String(await freePort(given.host));
  } while (chosen.PORT !== undefined && chosen.PORT === chosen.INGRESS_PORT);
  if (given.runnerApiPort === 0 && hasLocalRunnerApi(given))
    chosen.RUNNER_API_PORT = String(await freePort('127.0.0.1'));
  return parseSettings({ ...environment, ...chosen });
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, host, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

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
