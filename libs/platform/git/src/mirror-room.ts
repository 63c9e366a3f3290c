import { join } from 'node:path';
import type { Clock } from '#platform/kernel';
import { withFileLock } from './file-lock.js';
import { GitFailure } from './git-failure.js';
import type { MirrorStore } from './mirror-store.js';

const UNUSED_MS = 14 * 86_400_000;
/** Whoever reads a mirror touches it more often than this. */
const IN_USE_MS = 5 * 60_000;
/** Long enough to take over the lock of a process that has gone. */
const LOCK_WAIT_MS = 300;

/** Removes mirrors: those that nobody has used for two weeks, and the longest unused ones of more than there is room for. */
export class MirrorRoom {
  constructor(
    private readonly store: MirrorStore,
    /** Of all mirrors of the directory. */
    private readonly maxBytes: number,
    private readonly clock: Clock,
  ) {}

  /**
   * To be called when a mirror has grown. Sizes are noted when mirrors are fetched, so this reads a line for each and walks
   * through none. What is in use stays, whatever it takes. Never rejects: a mirror too many is no reason to refuse one.
   */
  async make(grown: string, signal: AbortSignal): Promise<void> {
    // One at a time, or several would each remove what one removal makes room for.
    const lock = join(this.store.directory, 'room.lock');
    await withFileLock(lock, signal, () => this.removeSome(grown, signal)).catch(() => undefined);
  }

  private async removeSome(grown: string, signal: AbortSignal): Promise<void> {
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

  /** Under its lock, and after another look: somebody may have asked for it since. */
  private async remove(place: string, before: number): Promise<boolean> {
    try {
      const aside = await withFileLock(`${place}.lock`, AbortSignal.timeout(LOCK_WAIT_MS), async () =>
        (await this.store.usedAt(place)) > before ? null : this.store.setAside(place),
      );
      await this.store.clear(aside);
      return aside !== null;
    } catch (error) {
      if (error instanceof GitFailure && error.reason === 'aborted') return false; // somebody is at it
      throw error;
    }
  }
}
