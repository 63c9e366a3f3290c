import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Settings } from '#platform/config';
import { Clock, within } from '#platform/kernel';
import { ReadSkills, type SkillsReading } from './read-skills.js';
import { keyOf, type SkillRepository, type Unreadable, unreadable } from './skill-sources.js';
import type { FoundSkill } from '../domain/found-skill.js';

/** A failure is cached for a shorter time than skills. */
const FAILURE_MS = 30_000;
/** Forced reads of one repository in a window of a minute; further requests receive what is cached. */
const MAX_FORCED = 20;
const FORCED_WINDOW_MS = 60_000;
const MAX_BYTES = 128 * 1_048_576;
/** Approximate size of an entry without its texts. */
const ENTRY_BYTES = 2_048;
const STALE_WAIT_MS = 2_000;

interface Entry {
  skills?: readonly FoundSkill[];
  readAt?: number;
  failure?: Unreadable;
  running?: Promise<SkillsReading>;
  /** Begins when `running` ends, for callers who requested a refresh after `running` had begun. */
  next?: Promise<SkillsReading>;
  forcedAt: number[];
}

/** A repository is read once at a time. There is an entry for each credential that a repository is read with. */
@Injectable()
export class SkillCache {
  private readonly logger = new Logger('Skills');
  private readonly entries = new LRUCache<string, Entry>({ maxSize: MAX_BYTES });

  constructor(
    private readonly reader: ReadSkills,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /**
   * `refresh` requests a reading that begins now, within a rate limit. While a repository cannot be read temporarily, its last
   * known skills are returned. After `waitMs` the cached result is returned and the reading continues.
   */
  async get(repository: SkillRepository, refresh: boolean, waitMs: number): Promise<SkillsReading> {
    const entry = this.touch(keyOf(repository));
    if (!(refresh && this.mayForce(entry)) && this.isFresh(entry)) return cachedReading(entry);
    const reading = refresh ? this.refresh(entry, repository) : (entry.running ?? this.begin(entry, repository));
    const longest = entry.skills === undefined || refresh ? waitMs : Math.min(waitMs, STALE_WAIT_MS);
    const answer = await within(longest, reading, () => null);
    return answer ?? cachedReading(entry);
  }

  private touch(key: string): Entry {
    const known = this.entries.get(key);
    if (known) return known;
    const entry: Entry = { forcedAt: [] };
    this.entries.set(key, entry, { size: ENTRY_BYTES });
    return entry;
  }

  private isFresh({ readAt, failure }: Entry): boolean {
    if (readAt === undefined) return false;
    const age = this.clock.now().getTime() - readAt;
    const limit = failure ? Math.min(FAILURE_MS, this.settings.skillsCacheTtl) : this.settings.skillsCacheTtl;
    return age >= 0 && age < limit;
  }

  private mayForce(entry: Entry): boolean {
    const now = this.clock.now().getTime();
    entry.forcedAt = entry.forcedAt.filter((at) => at <= now && now - at < FORCED_WINDOW_MS);
    if (entry.forcedAt.length >= MAX_FORCED) return false;
    entry.forcedAt.push(now);
    return true;
  }

  private refresh(entry: Entry, repository: SkillRepository): Promise<SkillsReading> {
    if (!entry.running) return this.begin(entry, repository);
    entry.next ??= entry.running.then(() => entry.running ?? this.begin(entry, repository));
    return entry.next;
  }

  private begin(entry: Entry, repository: SkillRepository): Promise<SkillsReading> {
    delete entry.next;
    const running = this.reader.execute(repository, entry.skills ?? []).then((reading) => {
      delete entry.running;
      return this.settle(entry, repository, reading);
    });
    entry.running = running;
    return running;
  }

  private settle(entry: Entry, repository: SkillRepository, reading: SkillsReading): SkillsReading {
    entry.readAt = this.clock.now().getTime();
    if (reading.kind === 'read') {
      delete entry.failure;
      this.store(entry, repository, reading.skills);
      return reading;
    }
    this.logger.warn(`The skills of ${repository.owner}/${repository.name} cannot be read: ${reading.detail}`);
    entry.failure = reading;
    if (!reading.retryable) this.store(entry, repository, undefined);
    return cachedReading(entry);
  }

  private store(entry: Entry, repository: SkillRepository, skills: readonly FoundSkill[] | undefined): void {
    if (skills) entry.skills = skills;
    else delete entry.skills;
    const key = keyOf(repository);
    // An entry that was evicted during the reading is not cached again.
    if (this.entries.peek(key) !== entry) return;
    // The library ignores the new size when the value of a key is the same object.
    this.entries.delete(key);
    this.entries.set(key, entry, { size: ENTRY_BYTES + sizeOf(skills ?? []) });
  }
}

function cachedReading({ skills, failure }: Entry): SkillsReading {
  if (skills) return { kind: 'read', skills };
  return failure ?? unreadable('The repository is still being read.', true);
}

function sizeOf(skills: readonly FoundSkill[]): number {
  return skills.reduce((sum, { path, parsed }) => {
    const text = parsed.kind === 'skill' ? parsed.body.length + parsed.description.length : parsed.error.length;
    return sum + 256 + 2 * (path.length + text);
  }, 0);
}
