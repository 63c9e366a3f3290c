import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
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

/** With free ports in place of 0, the addresses that follow from them, and the generated key. Throws a SettingsError. */
export async function prepareSettings(environment: Environment): Promise<Settings> {
  const settings = await withRealPorts(environment);
  return withInstallationKeys(settings, ensureDataDir(settings.dataDir), { generates: true });
}

/** Addresses are derived from ports while settings are parsed, so selected ports are set in the environment. */
async function withRealPorts(environment: Environment): Promise<Settings> {
  const given = parseSettings(environment);
  const chosen: Record<string, string> = {};
  if (given.port === 0) chosen.PORT = String(await tryPort(given.host, 0));
  do {
    if (given.ingressPort === 0) chosen.INGRESS_PORT = String(await tryPort(given.host, 0));
  } while (chosen.PORT !== undefined && chosen.PORT === chosen.INGRESS_PORT);
  if (given.runnerApiPort === 0 && hasLocalRunnerApi(given))
    chosen.RUNNER_API_PORT = String(await tryPort('127.0.0.1', 0));
  return parseSettings({ ...environment, ...chosen });
}

/** Binds the port, 0 for a free one, for a moment. Returns its number; rejects with the error of the system. */
export async function tryPort(host: string, port: number): Promise<number> {
  const server = createServer().listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return address.port;
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
