import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { KeyedSemaphore } from '#platform/kernel';
import { type SkillRepository, SkillSources, type SourceFile, type Unreadable, unreadable } from './skill-sources.js';
import type { FoundSkill } from '../domain/found-skill.js';
import { type ParsedSkill, parseSkill } from '../domain/parse-skill.js';
import { directoryRank } from '../domain/skill-files.js';

export type SkillsReading = { readonly kind: 'read'; readonly skills: readonly FoundSkill[] } | Unreadable;

/** Repositories that are read at once, and how many of them for the environments of one team or person. */
const MAX_READINGS = { total: 8, perKey: 3 };
/** All in all; callers do not wait for so long. */
const READING_LIMIT_MS = 600_000;

/** Reads the skills of one repository; contents that are known already are neither read nor parsed again. */
@Injectable()
export class ReadSkills implements OnModuleDestroy {
  private readonly logger = new Logger('Skills');
  private readonly stop = new AbortController();
  private readonly semaphore = new KeyedSemaphore(MAX_READINGS);

  constructor(private readonly sources: SkillSources) {}

  onModuleDestroy(): void {
    this.abort();
  }

  abort(): void {
    this.stop.abort();
  }

  /** Never rejects. */
  async execute(repository: SkillRepository, before: readonly FoundSkill[]): Promise<SkillsReading> {
    const key = repository.readFor ?? 'everybody';
    const reading = await this.semaphore.run(key, () => this.readInTime(repository, before));
    return reading ?? unreadable('The repository cannot be read now.', true);
  }

  private async readInTime(repository: SkillRepository, before: readonly FoundSkill[]): Promise<SkillsReading> {
    const limit = AbortSignal.timeout(READING_LIMIT_MS);
    try {
      return await this.read(repository, before, AbortSignal.any([limit, this.stop.signal]));
    } catch (error) {
      if (limit.aborted) return unreadable('It takes too long to read the repository.', true);
      if (this.stop.signal.aborted) return unreadable('The server is stopping.', true);
      this.logger.error(
        'A repository could not be read for a reason of ours.',
        error instanceof Error ? error.stack : error,
      );
      return unreadable('The repository cannot be read now.', true);
    }
  }

  private async read(
    repository: SkillRepository,
    before: readonly FoundSkill[],
    signal: AbortSignal,
  ): Promise<SkillsReading> {
    signal.throwIfAborted();
    const source = this.sources.find(repository);
    if (!source) return unreadable('There is no way to read repositories of this kind.', false);
    const known = new Map<string, ParsedSkill>();
    for (const { oid, parsed } of before) if (parsed.kind === 'skill') known.set(oid, parsed);
    const reading = await source.read(repository, new Set(known.keys()), signal);
    if (reading.kind === 'unreadable') return reading;
    const skills: FoundSkill[] = [];
    for (const file of reading.files) {
      if (file.content) {
        // Parsing takes a moment: others get their turn.
        await nextTurn();
        signal.throwIfAborted();
      }
      const parsed = parsedOf(file, known);
      if (parsed) skills.push({ path: file.path, oid: file.oid, parsed, listed: directoryRank(file.path) !== -1 });
    }
    return { kind: 'read', skills };
  }
}

function parsedOf({ oid, fault, content }: SourceFile, known: Map<string, ParsedSkill>): ParsedSkill | null {
  if (fault !== undefined) return { kind: 'malformed', error: fault };
  const before = known.get(oid);
  if (before) return before;
  if (!content) return null;
  const parsed = parseSkill(content);
  known.set(oid, parsed);
  return parsed;
}
