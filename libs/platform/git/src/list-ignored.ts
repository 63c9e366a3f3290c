import { runGit } from './git-process.js';

const MAX_OUTPUT_BYTES = 64 * 1_048_576;

/**
 * Untracked paths that the rules of a work tree exclude, relative to its root. A directory that is excluded as a whole ends
 * with a slash. Each character is one byte, because names need not be UTF-8. Rejects with a GitFailure.
 */
export async function listIgnored(
  directory: string,
  runAs?: { readonly uid: number; readonly gid: number },
): Promise<ReadonlySet<string>> {
  const { stdout } = await runGit({
    args: ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'],
    cwd: directory,
    ...(runAs ? { runAs } : {}),
    maxOutputBytes: MAX_OUTPUT_BYTES,
  });
  return new Set(stdout.toString('latin1').split('\0').slice(0, -1));
}
