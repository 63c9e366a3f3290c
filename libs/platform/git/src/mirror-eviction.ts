import { join } from 'node:path';
import type { Clock } from '#platform/kernel';
import { withFileLock } from './file-lock.js';
import { GitFailure } from './git-failure.js';
import type { MirrorStore } from './mirror-store.js';

const UNUSED_MS = 14 * 86_400_000;
/** A reader touches its mirror more often than this. */
const IN_USE_MS = 5 * 60_000;
/** Long enough to take over the lock of a process that has gone. */
const LOCK_WAIT_MS = 300;

/** Removes mirrors that have not been used for two weeks, and the least recently used ones above the limit of bytes. */
export class MirrorEviction {
  constructor(
    private readonly store: MirrorStore,
    /** The limit for all mirrors of the directory together. */
    private readonly maxBytes: number,
    private readonly clock: Clock,
  ) {}

  /**
   * To be called when a mirror has grown. Sizes are stored when mirrors are fetched, so this reads one line for each mirror and
   * no directory. A mirror in use stays. Never rejects: a failed eviction is no reason to fail a fetch.
   */
  async evict(grown: string, signal: AbortSignal): Promise<void> {
    // One process at a time: several would each evict as much as one has to.
    const lock = join(this.store.directory, 'eviction.lock');
    await withFileLock(lock, signal, () => this.evictUnused(grown, signal)).catch(() => undefined);
  }

  private async evictUnused(grown: string, signal: AbortSignal): Promise<void> {
    const now = this.clock.now().getTime();
    await this.store.removeLeftovers();
    const mirrors = (await this.store.list()).sort((one, other) => one.usedAt - other.usedAt);
    let total = mirrors.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { place, bytes, usedAt } of mirrors) {
      if (signal.aborted || usedAt > now - IN_USE_MS) return;
      if (total <= this.maxBytes && usedAt > now - UNUSED_MS) return;
      if (place !== grown && (await this.remove(place, now - IN_USE_MS))) total -= bytes;
    }
  }

  /** With its lock held, and after a second check: it may have been used since. */
  private async remove(place: string, before: number): Promise<boolean> {
    try {
      const aside = await withFileLock(`${place}.lock`, AbortSignal.timeout(LOCK_WAIT_MS), async () =>
        (await this.store.usedAt(place)) > before ? null : this.store.setAside(place),
      );
      await this.store.clear(aside);
      return aside !== null;
    } catch (error) {
      if (error instanceof GitFailure && error.reason === 'aborted') return false; // it is in use
      throw error;
    }
  }
}
