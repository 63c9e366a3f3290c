import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';

const SSHD = '/usr/sbin/sshd';

/** Why tests with a server of OpenSSH are skipped; null: they are not. On Debian, `openssh-server` and `openssh-client` have both. */
export const NO_SSHD: string | null = missingProgram();

function missingProgram(): string | null {
  try {
    accessSync(SSHD, constants.X_OK);
  } catch {
    return `(skipped: ${SSHD} is not installed)`;
  }
  return spawnSync('ssh', ['-V']).error ? '(skipped: ssh is not installed)' : null;
}

/** A deploy key as GitHub has them: it opens one repository, and the server refuses others after the sign-in. */
const SERVE = (root: string): string => `#!/bin/sh
case "$SSH_ORIGINAL_COMMAND" in
  "git-upload-pack '/acme/$1.git'" | "git-receive-pack '/acme/$1.git'")
    exec git-shell -c "\${SSH_ORIGINAL_COMMAND%% *} '${root}/acme/$1.git'" ;;
esac
echo "ERROR: Repository not found." >&2
exit 1
`;

/** OpenSSH's own server with repositories `acme/NAME.git`, on a port of 127.0.0.1 that the system chooses. */
export class SshGitServer {
  readonly user = userInfo().username;
  /** Called when a client connects. */
  onConnection: () => void = () => undefined;
  private readonly connections = new Set<Socket>();
  private readonly processes = new Set<number>();

  private constructor(
    private readonly server: Server,
    private readonly root: string,
  ) {}

  static async start(root: string): Promise<SshGitServer> {
    mkdirSync(root, { recursive: true });
    // Where sshd of root puts its process without permissions.
    if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
    makeKey(join(root, 'host_key'), 'ed25519');
    writeFileSync(join(root, 'serve'), SERVE(root));
    chmodSync(join(root, 'serve'), 0o755);
    writeFileSync(join(root, 'authorized_keys'), '');
    const settings = {
      HostKey: join(root, 'host_key'),
      AuthorizedKeysFile: join(root, 'authorized_keys'),
      StrictModes: 'no',
      UsePAM: 'no',
      PasswordAuthentication: 'no',
      KbdInteractiveAuthentication: 'no',
      PermitRootLogin: 'yes',
      AcceptEnv: 'GIT_PROTOCOL',
      PidFile: 'none',
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
    writeFileSync(join(root, 'sshd_config'), lines.join(''));
    const server = createServer({ pauseOnConnect: true });
    const started = new SshGitServer(server, root);
    server.on('connection', (connection) => started.serve(connection));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return started;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  urlOf(name: string): string {
    return `ssh://${this.user}@127.0.0.1:${this.port}/acme/${name}.git`;
  }

  /** Where the repository lies on the server. */
  pathOf(name: string): string {
    return join(this.root, 'acme', `${name}.git`);
  }

  /** Makes a deploy key of a repository; the private key. */
  addKey(name: string, type: string): string {
    const path = join(this.root, `${name}_key`);
    makeKey(path, type);
    const line = `restrict,command="${join(this.root, 'serve')} ${name}" ${readFileSync(`${path}.pub`, 'utf8')}`;
    writeFileSync(join(this.root, 'authorized_keys'), line, { flag: 'a' });
    return readFileSync(path, 'utf8');
  }

  async stop(): Promise<void> {
    for (const connection of this.connections) connection.destroy();
    for (const pid of this.processes) process.kill(pid, 'SIGTERM');
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** As inetd does: sshd cannot report a port that the system has chosen. */
  private serve(connection: Socket): void {
    this.connections.add(connection);
    this.onConnection();
    const sshd = spawn(SSHD, ['-i', '-e', '-f', join(this.root, 'sshd_config')], {
      stdio: [connection, connection, 'ignore'],
    });
    const { pid } = sshd;
    if (pid !== undefined) this.processes.add(pid);
    sshd.once('exit', () => {
      if (pid !== undefined) this.processes.delete(pid);
      connection.destroy();
      this.connections.delete(connection);
    });
  }
}

const makeKey = (path: string, type: string): void =>
  void execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'test', '-f', path]);
