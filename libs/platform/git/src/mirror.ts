import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#platform/kernel';
import { BlobReader } from './blob-reader.js';
import { fetchFromDirectory } from './fd-transport.js';
import { GitFailure } from './git-failure.js';
import { COMMIT_ID } from './git-location.js';
import { type GitResult, type GitCall, inDirectory, runGit } from './git-process.js';
import { type FetchedRef, readRecord } from './mirror-refs.js';

export interface GitCredential {
  /** Default: `x-access-token`, what GitHub expects beside a token. */
  readonly username?: string;
  /** A password, a token, or for ssh a private key. */
  readonly password: string;
  /** Of a password that changes: it names the mirror instead of the password. */
  readonly identity?: string | undefined;
}

export interface GitRepository {
  /** As `parseGitUrl` takes it; checked again. */
  readonly url: string;
  readonly credential?: GitCredential;
}

export interface MirrorOptions {
  /** Branch, tag, full name (`refs/…`) or whole commit id; the default branch when absent. */
  readonly ref?: string;
  /** Not fetched again when it was within this time. Default 0. */
  readonly maxAgeMs?: number;
  readonly signal?: AbortSignal;
}

export interface TreeEntry {
  /** `100644`, `100755`, `120000` (symbolic link, whose content is its target), `160000` (submodule). */
  readonly mode: string;
  readonly type: 'blob' | 'tree' | 'commit';
  readonly oid: string;
  /** Bytes; null for what is no blob. */
  readonly size: number | null;
  readonly path: string;
}

/** Its presence marks a copy that is broken and has to be replaced. */
export const BROKEN_MARK = 'broken';

export interface ListOptions {
  /** Only what lies below these directories. */
  readonly below?: readonly string[];
  /** Bytes of the listing. Default: 64 MiB. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

/** How often a mirror is touched while it is read: what is not in use may be removed. */
const TOUCH_MS = 30_000;
const LIST_OPTIONS = ['-r', '-z', '--long', '--full-tree'];
const LIST_BYTES = 64 * 1_048_576;
const ENTRY = /^(\d{6}) (blob|tree|commit) ([0-9a-f]{40,64}) +(\d+|-)\t/;

/** A bare copy of a repository on this machine, read without a checkout. No path in it is ever opened as a file. */
export class Mirror {
  private readonly blobs: BlobReader;
  private touchedAt = 0;

  constructor(
    readonly path: string,
    private readonly clock: Clock,
  ) {
    this.blobs = new BlobReader(path);
  }

  /** The commit that a ref was when it was last fetched; null when it was not. */
  async resolve(ref?: string): Promise<string | null> {
    return (await this.describe(ref))?.commit ?? null;
  }

  async describe(ref?: string): Promise<FetchedRef | null> {
    const record = await readRecord(this.path, ref);
    return record && { commit: record.commit, name: record.name };
  }

  /** Every file of a commit, in git's order; symbolic links are entries and are not followed. Rejects with a GitFailure. */
  async list(commit: string, { below = [], maxBytes = LIST_BYTES, signal }: ListOptions = {}): Promise<TreeEntry[]> {
    if (!COMMIT_ID.test(commit)) throw new GitFailure('invalid', 'The id of a commit is not one.');
    const { stdout } = await this.noticing(
      runGit({
        ...inDirectory(this.path, '--literal-pathspecs', 'ls-tree', ...LIST_OPTIONS, commit, '--', ...below),
        maxOutputBytes: maxBytes,
        signal,
      }),
    );
    const entries: TreeEntry[] = [];
    for (const line of stdout.toString('utf8').split('\0')) {
      const match = ENTRY.exec(line);
      if (!match) continue;
      const [prefix, mode = '', type, oid = '', size = '-'] = match;
      entries.push({
        mode,
        type: type as TreeEntry['type'],
        oid,
        size: size === '-' ? null : Number(size),
        path: line.slice(prefix.length),
      });
    }
    return entries;
  }

  /** The content of a file. Rejects with a GitFailure: `too_large`, `damaged`. */
  read(oid: string, maxBytes: number): Promise<Buffer> {
    return this.noticing(this.blobs.read(oid, maxBytes));
  }

  /** Lets another git process, of whatever user, fetch from this copy: see `fetchFromDirectory`. */
  serve(call: GitCall): Promise<GitResult> {
    return this.noticing(fetchFromDirectory(this.path, call));
  }

  /** The mirror is in use meanwhile. A copy that turns out to be broken is replaced at the next request. */
  private async noticing<T>(work: Promise<T>): Promise<T> {
    this.keep();
    const keeping = setInterval(() => this.keep(), TOUCH_MS);
    try {
      return await work;
    } catch (error) {
      if (error instanceof GitFailure && error.reason === 'damaged') await this.markBroken();
      throw error;
    } finally {
      clearInterval(keeping);
    }
  }

  private keep(): void {
    const now = this.clock.now();
    if (now.getTime() - this.touchedAt < TOUCH_MS) return;
    this.touchedAt = now.getTime();
    void touch(this.path, now);
  }

  private async markBroken(): Promise<void> {
    await writeFile(join(this.path, BROKEN_MARK), '', { mode: 0o600 }).catch(() => undefined);
  }
}

/** When it was last asked for or read, by which the unused ones are found. */
export async function touch(mirror: string, now: Date): Promise<void> {
  await utimes(mirror, now, now).catch(() => undefined);
}
