import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, SingleFlight, SystemClock } from '#platform/kernel';
import { withFileLock } from './file-lock.js';
import { type RemoteCall, queryRepository } from './git-access.js';
import { GitFailure } from './git-failure.js';
import { parseGitUrl, refFault } from './git-location.js';
import { inDirectory, runGit, SHALLOW_FETCH } from './git-process.js';
import { MirrorEviction } from './mirror-eviction.js';
import { findRef, keptRef, readRecord, writeRecord } from './mirror-refs.js';
import { MirrorStore, withinSize } from './mirror-store.js';
import { type GitRepository, Mirror, type MirrorOptions, touch } from './mirror.js';
import type { GitHosts } from './remote-host.js';

export interface MirrorCacheOptions {
  /** Made when it is not there, mode 0700. */
  readonly directory: string;
  /** Where repositories of this machine may lie. Default: nowhere. */
  readonly localRoots?: readonly string[];
  /** Which hosts may be asked. Default: all, by whatever redirects lead there. */
  readonly hosts?: GitHosts;
  /** Of one mirror on disk. Default: 5 GiB. */
  readonly maxBytes?: number;
  /** Of all mirrors of the directory, but for those that are in use. Default: 20 GiB. */
  readonly maxTotalBytes?: number;
  /** For bringing one mirror up to date. Default: 10 minutes. */
  readonly timeoutMs?: number;
  /** Marks the processes of git, so that they can be found. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

interface Fetch {
  readonly repository: GitRepository;
  readonly ref: string | undefined;
  readonly place: string;
  readonly signal: AbortSignal;
}

const MANY_PACKS = 30;
const FETCH_OPTIONS = [...SHALLOW_FETCH, '--force'];

/** Bare, shallow copies of repositories, brought up to date when asked for; one at a time does that for a repository. */
export class MirrorCache {
  private readonly store: MirrorStore;
  private readonly eviction: MirrorEviction;
  private readonly flights = new SingleFlight<Mirror>(() => new GitFailure('aborted', 'git was stopped.'));
  private readonly mirrors = new Map<string, Mirror>();
  private readonly clock: Clock;

  constructor(private readonly options: MirrorCacheOptions) {
    this.store = new MirrorStore(resolve(options.directory));
    this.clock = options.clock ?? new SystemClock();
    this.eviction = new MirrorEviction(this.store, options.maxTotalBytes ?? 20 * 1024 ** 3, this.clock);
  }

  /** Brings a mirror up to date for a ref. Rejects with a GitFailure. */
  async mirror(repository: GitRepository, { ref, maxAgeMs = 0, signal }: MirrorOptions = {}): Promise<Mirror> {
    const parsed = parseGitUrl(repository.url);
    if (parsed.kind === 'invalid') throw new GitFailure('invalid', `The URL of the repository ${parsed.detail}.`);
    const fault = ref === undefined ? null : refFault(ref);
    if (fault !== null) throw new GitFailure('invalid', `The ref of the repository ${fault}.`);
    const asked = { ...repository, url: parsed.location.url };
    const place = await this.store.placeOf(asked);
    if (await this.isFresh(place, ref, maxAgeMs)) {
      await touch(place, this.clock.now());
      return this.at(place);
    }
    return this.flights.run(`${place} ${ref ?? ''}`, signal, (flight) =>
      this.bringUpToDate({ repository: asked, ref, place, signal: flight }),
    );
  }

  private async bringUpToDate(fetch: Fetch): Promise<Mirror> {
    const { ref, place, signal } = fetch;
    const startedAt = this.clock.now().getTime();
    const timeoutMs = this.options.timeoutMs ?? 600_000;
    const late = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([signal, late]);
    try {
      const hasGrown = await withFileLock(`${place}.lock`, either, async () => {
        // Another process may have done it while this one waited.
        const waited = this.clock.now().getTime() - startedAt;
        const isFresh = await this.isFresh(place, ref, waited);
        const fetched = !isFresh && (await this.twice({ ...fetch, signal: either }));
        await touch(place, this.clock.now());
        return fetched;
      });
      if (hasGrown) await this.eviction.evict(place, either);
      return this.at(place);
    } catch (error) {
      if (late.aborted && !signal.aborted)
        throw new GitFailure('timeout', `It took longer than ${Math.ceil(timeoutMs / 1000)} s (GIT_CLONE_TIMEOUT).`);
      throw error;
    }
  }

  /** What fails on a copy that was there before is tried once with a new one. Whether anything was fetched. */
  private async twice(fetch: Fetch): Promise<boolean> {
    const { place, signal } = fetch;
    const made = await this.store.prepare(place, signal);
    try {
      return await this.fetch(fetch);
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      if (made === 'there' && ['damaged', 'failed', 'too_large'].includes(error.reason)) {
        await this.store.discard(place);
        await this.store.prepare(place, signal);
        return await this.fetch(fetch);
      }
      if (made === 'made' || error.reason === 'too_large') await this.store.discard(place);
      throw error;
    }
  }

  private async fetch({ repository, ref, place, signal }: Fetch): Promise<boolean> {
    const { environment, maxBytes = 5 * 1024 ** 3 } = this.options;
    const call = (args: readonly string[], ended: AbortSignal): ReturnType<RemoteCall> => ({
      ...inDirectory(place, ...args),
      signal: ended,
      // The signal is what ends it.
      timeoutMs: 86_400_000,
      environment,
    });
    // What the other side gets after this moment is not known to be there.
    const lookedAt = this.clock.now().getTime();
    const found = await findRef(ref, (patterns) =>
      queryRepository(repository, this.options, (url) =>
        call(['ls-remote', '--symref', '--quiet', '--', url, ...patterns], signal),
      ),
    );
    const kept = keptRef(ref);
    const known = await readRecord(place, ref);
    const isThere = known?.oid === found.oid && (await this.commitOf(place, kept, signal)) === known.commit;
    if (!isThere) {
      const refspec = `+${found.name}:${kept}`;
      await withinSize(place, maxBytes, (tooLarge) =>
        queryRepository(repository, this.options, (url) =>
          call(['fetch', ...FETCH_OPTIONS, '--', url, refspec], AbortSignal.any([signal, tooLarge])),
        ),
      );
      await this.tidy(place, signal);
      await this.store.noteSize(place);
    }
    const commit = isThere ? known.commit : await this.commitOf(place, kept, signal);
    if (commit === null) throw new GitFailure('ref_not_found', `${ref ?? 'HEAD'} does not name a commit.`);
    await writeRecord(place, ref, { ...found, commit, at: lookedAt });
    return !isThere;
  }

  /** null: it is not there, or is none. */
  private async commitOf(place: string, name: string, signal: AbortSignal): Promise<string | null> {
    try {
      const revParse = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
      const { stdout } = await runGit({ ...inDirectory(place, ...revParse), signal });
      const commit = stdout.toString('latin1').trim();
      // The tree is read too: a commit whose tree is missing is not there.
      await runGit({ ...inDirectory(place, 'cat-file', '-e', `${commit}^{tree}`), signal });
      return commit;
    } catch (error) {
      if (error instanceof GitFailure && error.reason === 'aborted') throw error;
      return null;
    }
  }

  /** Every fetch adds a pack and leaves what it replaces; what somebody may still read stays for an hour. */
  private async tidy(place: string, signal: AbortSignal): Promise<void> {
    const packs = (await readdir(join(place, 'objects', 'pack'))).filter((name) => name.endsWith('.pack'));
    if (packs.length < MANY_PACKS) return;
    const { config, ...call } = inDirectory(place, 'gc', '--quiet');
    await runGit({ ...call, config: { ...config, 'gc.pruneExpire': '1.hour.ago' }, signal, timeoutMs: 600_000 });
  }

  private async isFresh(place: string, ref: string | undefined, maxAgeMs: number): Promise<boolean> {
    if (maxAgeMs <= 0 || (await this.store.isBroken(place))) return false;
    const record = await readRecord(place, ref);
    return record !== null && this.clock.now().getTime() - record.at < maxAgeMs;
  }

  private at(place: string): Mirror {
    const known = this.mirrors.get(place) ?? new Mirror(place, this.clock);
    this.mirrors.set(place, known);
    return known;
  }
}
