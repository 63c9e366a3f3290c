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
 * The settings of a process of this installation: with free ports in place of 0, the public addresses that follow from them,
 * and the generated secrets key. Throws a SettingsError.
 */
export async function prepareSettings(environment: Environment): Promise<Settings> {
  const settings = await withRealPorts(environment);
  return withInstallationKeys(settings, ensureDataDir(settings.dataDir), { generates: true });
}

/** Addresses are derived from ports while settings are parsed, so selected ports are set in the environment. */
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
 * The settings with the keys of this installation: SECRETS_KEY, else the generated key in the data directory. A key that an
 * operator renamed to `secrets-key.previous` still decrypts, like those of SECRETS_KEY_PREVIOUS.
 *
 * `generates`: generates a missing key; otherwise `secretsKey` stays unset.
 */
export function withInstallationKeys(
  settings: Settings,
  dataDir: string,
  { generates }: { readonly generates: boolean },
): Settings {
  const file = join(dataDir, 'secrets', 'secrets-key');
  const renamedKey = readIfPresent(`${file}.previous`)?.trim();
  const generated = (): string | undefined => {
    // After a key was renamed, the first process generates a new one.
    if (!generates && !renamedKey) return readIfPresent(file)?.trim() || undefined;
    ensurePrivateDir(dataDir, 'secrets');
    return persistedSecret(file);
  };
  return withSettings(settings, {
    dataDir,
    secretsKey: settings.secretsKey ?? generated(),
    secretsKeyPrevious: [...settings.secretsKeyPrevious, ...(renamedKey ? [renamedKey] : [])],
  });
}
