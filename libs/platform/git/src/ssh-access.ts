import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GitCredential } from './mirror.js';
import { startSshAgent } from './ssh-agent.js';
import { readSshKey } from './ssh-key.js';

interface SshAccess {
  readonly credential: GitCredential | undefined;
  /** Where ssh connects to, whatever the name of the host resolves to. */
  readonly address: string | null;
  /** A file with the keys of servers that were seen. Default: none was seen. */
  readonly knownHosts?: string;
  /** The name of the server in that file, whatever its address is. */
  readonly hostKeyAlias?: string;
}

/** Paths of sockets have at most 107 bytes. */
const MAX_PARENT_BYTES = 60;

/**
 * Provides a configuration for ssh without the keys, agents, settings and known hosts of the user of this process. A server is trusted
 * when first seen. The private key stays in the memory of this process: ssh asks for signatures over a socket in a directory that only
 * we can read, for as long as the work takes. Rejects with a GitFailure if the key cannot be read.
 */
export async function withSshConfig<T>(
  { credential, address, knownHosts, hostKeyAlias }: SshAccess,
  work: (config: string) => Promise<T>,
): Promise<T> {
  const key = credential && (await readSshKey(credential.password));
  const parent = Buffer.byteLength(tmpdir()) > MAX_PARENT_BYTES ? '/tmp' : tmpdir();
  // With mode 0700.
  const directory = await mkdtemp(join(parent, 'headrace-ssh-'));
  let endAgent = (): void => undefined;
  try {
    const agent = join(directory, 'agent.sock');
    const publicKey = join(directory, 'key.pub');
    if (key) {
      endAgent = await startSshAgent(agent, key);
      const type = key.publicKey.subarray(4, 4 + key.publicKey.readUInt32BE(0)).toString();
      await writeFile(publicKey, `${type} ${key.publicKey.toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    }
    const settings = {
      BatchMode: 'yes',
      // Without a warning about each server that is new.
      LogLevel: 'ERROR',
      IdentitiesOnly: 'yes',
      IdentityAgent: key ? quoted(agent) : 'none',
      IdentityFile: key ? quoted(publicKey) : 'none',
      PasswordAuthentication: 'no',
      StrictHostKeyChecking: 'accept-new',
      UserKnownHostsFile: quoted(knownHosts ?? join(directory, 'known_hosts')),
      GlobalKnownHostsFile: '/dev/null',
      PermitLocalCommand: 'no',
      ProxyCommand: 'none',
      ForwardAgent: 'no',
      ...(address === null ? {} : { HostName: address }),
      ...(hostKeyAlias === undefined ? {} : { HostKeyAlias: hostKeyAlias }),
    };
    const config = join(directory, 'config');
    const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
    await writeFile(config, lines.join(''), { mode: 0o600, flag: 'wx' });
    return await work(config);
  } finally {
    endAgent();
    await rm(directory, { recursive: true, force: true });
  }
}

/** For ssh's own file: percent signs are its placeholders. */
const quoted = (path: string): string => `"${path.replaceAll('%', '%%')}"`;
