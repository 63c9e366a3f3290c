import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { RejectionOf } from '#platform/kernel';
import { BUNDLED_NAME, BUNDLED_OWNER, BundledSkills, isBundled } from './bundled-skills.js';
import { SkillCache } from './skill-cache.js';
import { type EnvironmentRepository, SkillRepositories } from './skill-repositories.js';
import { byLastRun, groupSkills, type SkillOccurrence } from '../domain/found-skill.js';
import { parseRepositoryName } from '../domain/skill-spec.js';
import { WorkerSkillsStore } from '../persistence/worker-skills.store.js';

export interface SkillRunSource {
  /** When runs that the caller may see last used these skills (ids as in `Skill.id`), in one round trip. Never used: left out. */
  lastRuns(caller: Caller, skillIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;
}

/** The library `runs` registers itself here on module init; without it no skill has a last run. */
@Injectable()
export class SkillRuns implements SkillRunSource {
  private source: SkillRunSource | undefined;

  register(source: SkillRunSource): void {
    if (this.source !== undefined) throw new Error('SkillRuns has a source already.');
    this.source = source;
  }

  async lastRuns(caller: Caller, skillIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    if (this.source === undefined || skillIds.length === 0) return new Map();
    return this.source.lastRuns(caller, skillIds);
  }
}

interface SkillListing {
  /** `owner/repo`; absent: those of all environments that the caller may use, and the bundled ones. */
  readonly repo?: string;
  readonly refresh: boolean;
  readonly sortBy: 'name' | 'last_run';
  readonly includeMalformed: boolean;
}

/** How long a caller waits for repositories that nobody has asked for lately. */
const WAIT_MS = 20_000;
const MAX_REPOSITORIES = 200;
const MAX_VARIANTS = 10_000;

/** The skills of a caller. Without `repo` a repository that cannot be read is left out. */
@Injectable()
export class ListSkills {
  private readonly logger = new Logger('Skills');

  constructor(
    private readonly repositories: SkillRepositories,
    private readonly cache: SkillCache,
    private readonly bundled: BundledSkills,
    private readonly runs: SkillRuns,
    private readonly workers: WorkerSkillsStore,
  ) {}

  /** `unavailable`: a later request may succeed. */
  async list(caller: Caller, listing: SkillListing) {
    const wanted = listing.repo === undefined ? null : parseRepositoryName(listing.repo);
    if (listing.repo !== undefined && wanted === null)
      return invalidRepository('must be `owner/repo`, the name of a repository');
    if (wanted && isBundled(wanted.owner, wanted.repo)) return this.answer(caller, listing, this.bundledOnes());
    const places = await this.placesOf(caller, wanted);
    const readings = await Promise.all(
      places.map(({ repository }) => this.cache.get(repository, listing.refresh, WAIT_MS)),
    );
    const found: SkillOccurrence[] = wanted ? [] : this.bundledOnes();
    for (const occurrence of await this.workers.list(caller.teamUids))
      if (!wanted || isNamed({ owner: occurrence.owner, name: occurrence.repo }, wanted)) found.push(occurrence);
    for (const [index, { repository, environments }] of places.entries()) {
      const reading = readings[index];
      if (reading?.kind !== 'read') continue;
      const { owner, name: repo } = repository;
      for (const skill of reading.skills) if (skill.listed) found.push({ owner, repo, skill, environments });
    }
    const [failure] = readings.filter((reading) => reading.kind === 'unreadable');
    if (wanted && failure && readings.every(({ kind }) => kind === 'unreadable'))
      return failure.retryable
        ? { kind: 'unavailable' as const, detail: failure.detail }
        : invalidRepository(`cannot be read: ${failure.detail.replace(/\.$/, '')}`);
    return this.answer(caller, listing, found);
  }

  private async placesOf(
    caller: Caller,
    wanted: { owner: string; repo: string } | null,
  ): Promise<EnvironmentRepository[]> {
    const all = await this.repositories.visibleTo(caller);
    if (wanted) {
      const places = all.filter(({ repository }) => isNamed(repository, wanted));
      // What others share by this name stands beside GitHub's, not for it.
      const isKnown = places.some(({ isOwn, repository }) => isOwn || repository.isGithub);
      const repository = this.repositories.publicOne(wanted.owner, wanted.repo);
      const asked = isKnown ? [] : [{ repository, environments: [], isOwn: false }];
      return [...asked, ...places].slice(0, MAX_REPOSITORIES);
    }
    if (all.length > MAX_REPOSITORIES)
      this.logger.warn(`A caller has ${all.length} repositories; skills of ${MAX_REPOSITORIES} are listed.`);
    return all.slice(0, MAX_REPOSITORIES);
  }

  private bundledOnes(): SkillOccurrence[] {
    const place = { owner: BUNDLED_OWNER, repo: BUNDLED_NAME, environments: [] };
    return this.bundled.skills.map((skill) => ({ ...place, skill }));
  }

  private async answer(caller: Caller, { sortBy, includeMalformed }: SkillListing, found: readonly SkillOccurrence[]) {
    const shown = found.filter(({ skill }) => includeMalformed || skill.parsed.kind === 'skill');
    if (shown.length > MAX_VARIANTS)
      this.logger.warn(`A caller has ${shown.length} skills; ${MAX_VARIANTS} are listed.`);
    const groups = groupSkills(shown.slice(0, MAX_VARIANTS));
    const ids = groups.flatMap(({ variants }) => variants.map(({ id }) => id));
    const lastRuns = await this.runs.lastRuns(caller, [...new Set(ids)]);
    return { kind: 'listed' as const, groups: sortBy === 'name' ? groups : byLastRun(groups, lastRuns), lastRuns };
  }
}

const invalidRepository = (detail: string): RejectionOf<'invalid'> => ({
  kind: 'invalid',
  issues: [{ pointer: '/repo', detail }],
});

function isNamed(
  { owner, name }: { readonly owner: string; readonly name: string },
  wanted: { readonly owner: string; readonly repo: string },
): boolean {
  return owner.toLowerCase() === wanted.owner.toLowerCase() && name.toLowerCase() === wanted.repo.toLowerCase();
}
