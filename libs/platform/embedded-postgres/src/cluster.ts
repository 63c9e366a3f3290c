import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { persistedSecret, readIfPresent } from '#platform/config';
import { type NativeServer, nativeServer } from './native-server.js';
import { canReach, changeOwner, serverAccount, type ServerAccount, systemStateDir } from './server-account.js';
import { INITIAL_SETTINGS, SERVER_ENVIRONMENT } from './server-options.js';
import { SOCKET_PORT } from './server-socket.js';

/** The name of our role and our database. The role owns the database and may create others, but is no superuser. */
const NAME = 'headrace';

export interface Cluster {
  readonly directory: string;
  readonly account: ServerAccount;
  readonly programs: NativeServer;
  readonly password: string;
}

/** In the form of libpq for a Unix socket: its directory, percent-encoded, in place of the host. */
export const databaseUrl = ({ password }: Pick<Cluster, 'password'>, socketDirectory: string): string =>
  `postgresql://${NAME}:${password}@${encodeURIComponent(socketDirectory)}:${SOCKET_PORT}/${NAME}`;

/**
 * Opens the cluster of a data directory, and creates it first when there is none. `dataDir/postgres` is the cluster, or a symbolic
 * link to it when the user that PostgreSQL runs as cannot reach the data directory. Called under the start lock, while no server
 * runs.
 */
export async function openCluster(dataDir: string, secretsDir: string, durable: boolean): Promise<Cluster> {
  const passwordFile = join(secretsDir, 'postgres-password');
  const link = join(dataDir, 'postgres');
  const isNew = lstatSync(link, { throwIfNoEntry: false }) === undefined;
  const account = serverAccount(link);
  const programs = await nativeServer(account, dataDir);
  const needsPassword = !isNew && readIfPresent(passwordFile) === null;
  const password = persistedSecret(passwordFile);
  const cluster = {
    account,
    programs,
    password,
    directory: isNew ? chooseDirectory(dataDir, link, account) : existingDirectory(link),
  };
  if (isNew) await create(cluster, link, durable);
  const major = readFileSync(join(cluster.directory, 'PG_VERSION'), 'utf8').trim();
  if (major !== programs.major) {
    throw new Error(
      `${link} was created by PostgreSQL ${major}; this version contains PostgreSQL ${programs.major}. Dump it with the previous version and restore it, or start with another data directory.`,
    );
  }
  if (needsPassword) await runStatements(cluster, [`ALTER ROLE ${NAME} PASSWORD '${password}'`]);
  return cluster;
}

/** The real directory of the data directory's cluster; null when there is none yet. */
export function clusterDirectory(dataDir: string): string | null {
  const link = join(dataDir, 'postgres');
  return lstatSync(link, { throwIfNoEntry: false }) ? existingDirectory(link) : null;
}

function existingDirectory(link: string): string {
  try {
    return realpathSync(link);
  } catch (error) {
    throw new Error(
      `${link} points to ${readlinkSync(link)}, which does not exist. Remove the link to start with an empty database.`,
      { cause: error },
    );
  }
}

function chooseDirectory(dataDir: string, link: string, account: ServerAccount): string {
  if (canReach(dataDir, account)) return link;
  const home = join(systemStateDir(), `data-${randomBytes(8).toString('hex')}`);
  mkdirSync(home, { mode: 0o700 });
  changeOwner(home, account);
  writeFileSync(join(home, 'belongs-to'), `${dataDir}\n`, { mode: 0o600 });
  return join(home, 'postgres');
}

/** Everything happens under another name first: a cluster appears complete or not at all. */
async function create(cluster: Cluster, link: string, durable: boolean): Promise<void> {
  const unfinished = { ...cluster, directory: `${cluster.directory}.new` };
  const passwordFile = `${cluster.directory}.superuser`;
  rmSync(unfinished.directory, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  try {
    // The password of the superuser is not kept: a user that may read the cluster needs none (`postgres --single`).
    writeFileSync(passwordFile, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 });
    mkdirSync(unfinished.directory, { mode: 0o700 });
    changeOwner(passwordFile, cluster.account);
    changeOwner(unfinished.directory, cluster.account);
    await initdb(unfinished, passwordFile, durable);
    await runStatements(unfinished, [
      `CREATE ROLE ${NAME} LOGIN CREATEDB PASSWORD '${cluster.password}'`,
      `CREATE DATABASE ${NAME} OWNER ${NAME}`,
    ]);
    renameSync(unfinished.directory, cluster.directory);
    if (cluster.directory !== link) symlinkSync(cluster.directory, link);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(unfinished.directory, { recursive: true, force: true });
  }
}

async function initdb(cluster: Cluster, passwordFile: string, durable: boolean): Promise<void> {
  const options = (ctype: string): string[] => [
    ...['-D', cluster.directory, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
    ...['--encoding=UTF8', '--no-instructions'],
    // The same sort order on every machine; trigram search uses the character classes of the C library.
    ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', `--lc-ctype=${ctype}`],
    ...Object.entries(INITIAL_SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ...(durable ? [] : ['--no-sync']),
  ];
  // A C library without C.UTF-8 has character classes of ASCII only.
  const inUnicode = await run(cluster, cluster.programs.initdb, options('C.UTF-8'), '');
  const result = inUnicode.code === 0 ? inUnicode : await run(cluster, cluster.programs.initdb, options('C'), '');
  if (result.output.includes('could not look up effective user ID')) {
    throw new Error(
      'PostgreSQL runs only as a user that /etc/passwd names. Add an entry for this user, or set DATABASE_URL to a PostgreSQL server.',
    );
  }
  if (result.code !== 0) throw new Error(`initdb failed with exit code ${result.code}:\n${result.output}`);
}

/** Runs SQL in single-user mode: needs no password and no port; the statements go through standard input. */
async function runStatements(cluster: Cluster, statements: readonly string[]): Promise<void> {
  const input = statements.map((statement) => `${statement}\n`).join('');
  const { code, output } = await run(
    cluster,
    cluster.programs.postgres,
    ['--single', '-D', cluster.directory, '-c', 'logging_collector=off', 'postgres'],
    input,
  );
  if (code !== 0 || /\b(ERROR|FATAL):/.test(output))
    throw new Error(`PostgreSQL could not be prepared (exit code ${code}):\n${output}`);
}

function run(
  cluster: Cluster,
  program: string,
  args: readonly string[],
  input: string,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      // A directory that the account may enter; ours may be closed to it.
      cwd: cluster.account ? '/' : dirname(cluster.directory),
      env: SERVER_ENVIRONMENT,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cluster.account ?? {}),
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stdin.on('error', () => undefined); // It ended before it read its input; its exit code says why.
    child.on('error', (error) => reject(new Error(`Cannot run ${program}: ${error.message}.`, { cause: error })));
    child.on('close', (code) => resolve({ code, output }));
    child.stdin.end(input);
  });
}
