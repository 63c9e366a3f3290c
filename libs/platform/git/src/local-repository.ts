import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { GitFailure } from './git-failure.js';
import { parseGitUrl } from './git-location.js';

/**
 * The git directory of a local repository, without symbolic links, when it and where it keeps its objects lie below one of
 * the roots. Rejects with GitFailure `not_allowed` or `not_found`; the message does not tell what exists outside.
 */
export async function openLocalRepository(path: string, roots: readonly string[]): Promise<string> {
  const realRoots = await realpaths(roots);
  const inside = async (candidate: string): Promise<string> => {
    const real = await realpath(candidate).catch(() => null);
    if (real === null) throw isBelow(candidate, roots) ? notThere(path) : notAllowed(path);
    if (!isBelow(real, realRoots)) throw notAllowed(path);
    return real;
  };
  const top = await inside(await withOrWithoutSuffix(path));
  const gitDirectory = await inside(await gitDirectoryOf(top, path));
  const common = await inside(resolve(gitDirectory, (await text(join(gitDirectory, 'commondir'))) ?? '.'));
  const objects = await inside(join(common, 'objects'));
  for (const line of ((await text(join(objects, 'info', 'alternates'))) ?? '').split('\n')) {
    if (line !== '' && !line.startsWith('#')) await inside(resolve(objects, line));
  }
  return gitDirectory;
}

/**
 * Why a URL may not be used here, completing "`url` …", or null. Local ones must lie below a root; what does not exist
 * yet is judged by its name, and again when it is used.
 */
export async function gitUrlFault(url: string, roots: readonly string[]): Promise<string | null> {
  const parsed = parseGitUrl(url);
  if (parsed.kind === 'invalid') return parsed.detail;
  if (parsed.location.kind === 'remote') return null;
  const { path } = parsed.location;
  const real = await realpath(path).catch(() => null);
  const isAllowed = real === null ? isBelow(path, roots) : isBelow(real, await realpaths(roots));
  return isAllowed ? null : 'must not be a local path, except below a directory of the setting GIT_LOCAL_ROOTS';
}

const isBelow = (path: string, roots: readonly string[]): boolean =>
  roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));

async function realpaths(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => realpath(path).catch(() => null)));
  return found.filter((path) => path !== null);
}

/** `…/name.git` may also be the checked-out repository `…/name`. */
async function withOrWithoutSuffix(path: string): Promise<string> {
  const exists = await stat(path).then(
    () => true,
    () => false,
  );
  return exists || !path.endsWith('.git') ? path : path.slice(0, -'.git'.length);
}

async function gitDirectoryOf(top: string, asked: string): Promise<string> {
  const dotGit = join(top, '.git');
  const stats = await stat(dotGit).catch(() => null);
  if (stats?.isDirectory()) return dotGit;
  if (stats?.isFile()) {
    const target = /^gitdir: (.+)$/.exec((await text(dotGit)) ?? '')?.[1];
    if (target === undefined) throw notThere(asked);
    return resolve(dirname(dotGit), target);
  }
  const head = await stat(join(top, 'HEAD')).catch(() => null);
  if (!head?.isFile()) throw notThere(asked);
  return top;
}

const text = async (path: string): Promise<string | null> =>
  readFile(path, 'utf8').then(
    (content) => content.trim(),
    () => null,
  );

const notThere = (path: string): GitFailure => new GitFailure('not_found', `There is no git repository at ${path}.`);
const notAllowed = (path: string): GitFailure =>
  new GitFailure('not_allowed', `${path} does not lie below a directory of the setting GIT_LOCAL_ROOTS.`);
