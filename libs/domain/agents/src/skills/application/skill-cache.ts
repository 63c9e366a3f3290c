import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock, within } from '#platform/kernel';
import type { FoundSkill } from '../domain/found-skill.js';
import { ReadSkills, type SkillsReading } from './read-skills.js';
import { keyOf, type SkillRepository } from './skill-source.js';

/** Failures are forgotten sooner than skills. */
const FAILURE_MS = 30_000;
/** Forced reads of one repository, in a window of a minute; further ones get what is there. */
const MAX_FORCED = 20;
const FORCED_WINDOW_MS = 60_000;
const MAX_BYTES = 128 * 1_048_576;
/** What an entry takes besides its texts, about. */
const ENTRY_BYTES = 2_048;
/** How long a caller waits for news when there is something older to show. */
const STALE_WAIT_MS = 2_000;

interface Entry {
  skills?: readonly FoundSkill[];
  /** Of the last reading, and how it ended when it failed. */
  readAt?: number;
  failure?: Extract<SkillsReading, { kind: 'unreadable' }>;
  bytes: number;
  running?: Promise<SkillsReading>;
  /** Begins when `running` ends: for those who asked for news after it had begun. */
  next?: Promise<SkillsReading>;
  forcedAt: number[];
}

/**
 * Skills of repositories as they were lately, in the memory of this process, the least recently used forgotten first.
 * One reading of a repository at a time, whoever asks. Who reads by another credential has an entry of their own.
 */
@Injectable()
export class SkillCache {
  private readonly logger = new Logger('Skills');
  private readonly entries = new Map<string, Entry>();
  private bytes = 0;

  constructor(
    private readonly reader: ReadSkills,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /**
   * `refresh`: what a reading says that begins now, within a rate. While a repository cannot be read for a time, its
   * last known skills stand. After `waitMs` an answer is given with what there is; the reading goes on.
   */
  async get(repository: SkillRepository, refresh: boolean, waitMs: number): Promise<SkillsReading> {
    const entry = this.touch(keyOf(repository));
    if (!(refresh && this.mayForce(entry)) && this.isFresh(entry)) return standing(entry);
    const reading = refresh ? this.readAnew(entry, repository) : (entry.running ?? this.begin(entry, repository));
    const patience = entry.skills === undefined || refresh ? waitMs : Math.min(waitMs, STALE_WAIT_MS);
    const answer = await within(patience, reading, () => null);
    return answer ?? standing(entry);
  }

  private touch(key: string): Entry {
    const entry = this.entries.get(key) ?? { bytes: ENTRY_BYTES, forcedAt: [] };
    if (!this.entries.delete(key)) this.bytes += entry.bytes;
    this.entries.set(key, entry);
    this.shrink(entry);
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

  private readAnew(entry: Entry, repository: SkillRepository): Promise<SkillsReading> {
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

  private settle(entry: Entry, { owner, name }: SkillRepository, reading: SkillsReading): SkillsReading {
    entry.readAt = this.clock.now().getTime();
    if (reading.kind === 'read') {
      delete entry.failure;
      this.keep(entry, reading.skills);
      return reading;
    }
    this.logger.warn(`The skills of ${owner}/${name} cannot be read: ${reading.detail}`);
    entry.failure = reading;
    if (!reading.retryable) this.keep(entry, undefined);
    return standing(entry);
  }

  private keep(entry: Entry, skills: readonly FoundSkill[] | undefined): void {
    if (skills) entry.skills = skills;
    else delete entry.skills;
    const bytes = ENTRY_BYTES + sizeOf(skills ?? []);
    // One that was forgotten meanwhile counts no more.
    if ([...this.entries.values()].includes(entry)) this.bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    this.shrink(entry);
  }

  private shrink(spared: Entry): void {
    for (const [key, entry] of this.entries) {
      if (this.bytes <= MAX_BYTES) return;
      if (entry === spared || entry.running) continue;
      this.entries.delete(key);
      this.bytes -= entry.bytes;
    }
  }
}

/** What an entry says without reading. */
function standing({ skills, failure }: Entry): SkillsReading {
  if (skills) return { kind: 'read', skills };
  return failure ?? { kind: 'unreadable', detail: 'The repository is still being read.', retryable: true };
}

function sizeOf(skills: readonly FoundSkill[]): number {
  return skills.reduce((sum, { path, parsed }) => {
    const text = parsed.kind === 'skill' ? parsed.body.length + parsed.description.length : parsed.error.length;
    return sum + 256 + 2 * (path.length + text);
  }, 0);
}
