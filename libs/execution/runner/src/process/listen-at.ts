import { chmodSync, chownSync, closeSync, constants, openSync } from 'node:fs';
import type { Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { RunnerHandover } from '#execution/runner-protocol';

/**
 * Listens at a socket that only this user and the user of the agent can open. By a descriptor of the directory, because paths of
 * sockets have at most 107 bytes.
 */
export async function listenAt(server: Server, socket: string, runAs: RunnerHandover['run_as']): Promise<void> {
  const directory = openSync(dirname(socket), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  server.once('close', () => closeSync(directory));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(join('/proc/self/fd', String(directory), basename(socket)), resolve);
  });
  if (runAs) chownSync(socket, runAs.uid, runAs.gid);
  chmodSync(socket, 0o600);
  server.unref();
}
