import { withoutOuterSlashes } from '#platform/kernel';
import type { SshPlace } from '#platform/git';

/** What git asks ssh to execute. */
export interface SshCommand {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The same command for another spelling of the path. */
  readonly forPath: (path: string) => string;
}

const SSH_PORT = 22;
const TRANSFER = /^(git[- ](?:upload-pack|receive-pack|upload-archive)) '((?:[^'!]|'\\['!]')*)'$/;
/** Of Git LFS. */
const AUTHENTICATE = /^(git-lfs-authenticate) '?([^'\s]+)'? (download|upload)$/;

/** Reads the arguments that git passes to ssh; null: they are not those of an access to a repository. */
export function readSshCommand(args: readonly string[]): SshCommand | null {
  const [destination, command] = args.slice(-2);
  if (destination === undefined || command === undefined) return null;
  const host = destination.replace(/^[^@]*@/, '').replace(/^\[(.*)\]$/, '$1');
  const portOption = args.slice(0, -2).indexOf('-p');
  const port = portOption === -1 ? SSH_PORT : Number(args[portOption + 1]);
  const transfer = TRANSFER.exec(command);
  if (transfer) {
    const [, program = '', quoted = ''] = transfer;
    const path = quoted.replaceAll(/'\\(['!])'/g, '$1');
    return { host, port, path, forPath: (other) => `${program} ${sshWord(other)}` };
  }
  const authenticate = AUTHENTICATE.exec(command);
  if (!authenticate) return null;
  const [, program = '', path = '', operation = ''] = authenticate;
  return { host, port, path, forPath: (other) => `${program} ${sshWord(other)} ${operation}` };
}

/** Both with and without `.git` or a slash at the beginning are the same repository. */
export const isSamePlace = (place: SshPlace, { host, port, path }: SshCommand): boolean =>
  isSameServer(place, { host, port }) && plainPath(place.path) === plainPath(path);

export const isSameServer = (
  { host, port }: Pick<SshPlace, 'host' | 'port'>,
  other: Pick<SshCommand, 'host' | 'port'>,
): boolean => host.toLowerCase() === other.host.toLowerCase() && port === other.port;

export const plainPath = (path: string): string => withoutOuterSlashes(path).replace(/\.git$/, '');

/** As git quotes it: servers that restrict commands expect this form. */
const sshWord = (path: string): string => `'${path.replaceAll(/['!]/g, "'\\$&'")}'`;
