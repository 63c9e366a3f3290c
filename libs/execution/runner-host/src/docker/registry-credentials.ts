import { readFile } from 'node:fs/promises';

/** Under this name `docker login` keeps what it knows of Docker Hub. */
const HUB = 'https://index.docker.io/v1/';

/**
 * What the engine shall tell a registry, as the header it expects, or null: nobody is known there. Throws, without a
 * value of the file, when the file cannot be used.
 */
export async function registryCredentials(file: string, registry: string): Promise<string | null> {
  if (file === '') return null;
  const { auths } = await readAuths(file);
  const names = registry === 'docker.io' ? [HUB, 'docker.io', 'index.docker.io'] : [registry, `https://${registry}`];
  const found = names.map((name) => auths[name]).find((entry) => entry !== undefined);
  if (found === undefined) return null;
  const [username, password] = pairOf(found);
  const header =
    found.identitytoken === undefined
      ? { username, password, serveraddress: registry }
      : { identitytoken: found.identitytoken, serveraddress: registry };
  return Buffer.from(JSON.stringify(header)).toString('base64url');
}

interface AuthEntry {
  readonly auth?: string;
  readonly username?: string;
  readonly password?: string;
  readonly identitytoken?: string;
}

async function readAuths(file: string): Promise<{ auths: Record<string, AuthEntry | undefined> }> {
  const text = await readFile(file, 'utf8');
  try {
    const { auths } = JSON.parse(text) as { auths?: Record<string, AuthEntry> };
    return { auths: auths ?? {} };
  } catch {
    throw new Error('The file that DOCKER_AUTH_FILE names is not JSON.');
  }
}

function pairOf({ auth, username, password }: AuthEntry): [string, string] {
  if (auth === undefined) return [username ?? '', password ?? ''];
  const decoded = Buffer.from(auth, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? [decoded, ''] : [decoded.slice(0, colon), decoded.slice(colon + 1)];
}
