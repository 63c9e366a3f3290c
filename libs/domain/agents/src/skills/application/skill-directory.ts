import { Injectable } from '@nestjs/common';
import { EnvironmentDirectory } from '#domain/environments';
import type { Caller } from '#platform/auth';
import { isUid, nearMisses } from '#platform/kernel';
import { BUNDLED_NAME, BUNDLED_OWNER, BundledSkills, isBundled } from './bundled-skills.js';
import { FactorySkills } from './factory-skills.js';
import { SkillCache } from './skill-cache.js';
import { type EnvironmentRepository, SkillRepositories } from './skill-repositories.js';
import type { SkillRepository } from './skill-sources.js';
import { findSkills, type FoundSkill, idOf, nameOf } from '../domain/found-skill.js';
import { directoryName } from '../domain/skill-files.js';
import { parseSkillSpec, type SkillQuery, type SkillSpec } from '../domain/skill-spec.js';

export interface Skill {
  /**
   * Full spec: `owner/repo:path/to/SKILL.md`; of a bundled skill `headrace/bundled:<id>/SKILL.md`, of a factory's
   * `headrace/<factory uid>:<path>`.
   */
  readonly id: string;
  readonly name: string;
  /** At most 512 characters. */
  readonly description: string;
  /** The instructions, without front matter, trimmed. */
  readonly body: string;
  readonly owner: string;
  readonly repo: string;
  readonly path: string;
  /** Only of skills that ship with Headrace. */
  readonly bundledSkillId?: string;
}

export type ResolvedSkill =
  | { readonly kind: 'found'; readonly skill: Skill }
  /** Several skills fit, or none does. `candidates`: full specs of what was meant perhaps, at most 20. */
  | { readonly kind: 'ambiguous' | 'missing'; readonly candidates: readonly string[] }
  /** It is there, but cannot be used; `error` is a sentence. */
  | { readonly kind: 'malformed'; readonly error: string }
  /** Its repository cannot be read; `detail` is a sentence. `retryable`: not now (a time limit, a network fault), perhaps later. */
  | { readonly kind: 'unreadable'; readonly detail: string; readonly retryable?: boolean };

export interface SkillSearch {
  /** Its repositories are looked at before all others. */
  readonly environmentUid?: string;
  /**
   * The factory that the run works for, and the one whose agent executes it. The skills of their definitions come first of
   * all, so far as they are the team's.
   */
  readonly factoryUids?: readonly string[];
  readonly agentUid?: string;
  /** For each step of the search, how long repositories are waited for that are not known yet; default 15 seconds. */
  readonly waitMs?: number;
}

const WAIT_MS = 15_000;
const MAX_CANDIDATES = 20;

type Unreadable = Extract<ResolvedSkill, { kind: 'unreadable' }>;
interface SkillCollection {
  readonly owner: string;
  readonly repo: string;
  readonly skills: readonly FoundSkill[];
}
interface Tier {
  /** Whether a repository that cannot be read ends the search, so that a spec does not mean another skill for a while. */
  readonly isFirm: boolean;
  readonly repositories: readonly SkillRepository[];
}
interface SearchPlan {
  readonly tiers: readonly Tier[];
  /** Of environments that others share, named by nobody but them: looked into when nothing else is meant. */
  readonly shared: readonly SkillRepository[];
}
type Match = Omit<SkillCollection, 'skills'> & { readonly skill: FoundSkill };

/**
 * Resolves specs of skills. It searches the factory of the run, then its environment, then the caller's own environments, then the bundled skills, and last
 * what others share with the caller: a shared environment must not change which skill a name refers to.
 */
@Injectable()
export class SkillDirectory {
  constructor(
    private readonly repositories: SkillRepositories,
    private readonly environments: EnvironmentDirectory,
    private readonly cache: SkillCache,
    private readonly bundled: BundledSkills,
    private readonly factories: FactorySkills,
  ) {}

  /**
   * The skill that a spec names, in one of its forms: `owner/repo:name`, `owner/repo:path/to/SKILL.md`, `repo:name`,
   * `repo:path`, `:path`, or `name` alone. `teamUid`: of the run, null for a personal one. Reading repositories continues
   * when nobody waits any longer. Never throws because of the content of `spec`.
   */
  async resolve(
    caller: Caller,
    teamUid: string | null,
    spec: string,
    search: SkillSearch = {},
  ): Promise<ResolvedSkill> {
    const { environmentUid, waitMs = WAIT_MS } = search;
    const asked = parseSkillSpec(spec);
    if (asked.kind === 'invalid') return { kind: 'missing', candidates: [] };
    const searched: SkillCollection[] = [];
    const ofFactory = await this.factoryShelves(asked, teamUid, search);
    for (const collection of ofFactory ?? []) {
      const found = conclude([collection], asked.query);
      if (found) return found;
      searched.push(collection);
    }
    if (ofFactory && asked.kind === 'repository')
      return { kind: 'missing', candidates: suggest(searched, asked.query) };
    let unreadable: Unreadable | undefined;
    const { tiers, shared } = await this.searchPlan(caller, teamUid, asked, environmentUid);
    for (const tier of tiers) {
      const { collections, failure } = await this.read(tier.repositories, waitMs);
      const found = conclude(collections, asked.query);
      if (found) return found;
      if (failure && tier.isFirm) return failure;
      unreadable ??= failure;
      searched.push(...collections);
    }
    const collection = this.bundledCollection(asked);
    const found = collection && conclude([collection], asked.query);
    if (found) return found;
    if (collection) searched.push(collection);
    // A name that is taken, or may be, stays what it is.
    const isTaken = asked.kind === 'repository' ? unreadable?.retryable !== false : unreadable?.retryable === true;
    if (!isTaken && shared.length > 0) {
      const { collections } = await this.read(shared, waitMs);
      const others = conclude(collections, asked.query);
      if (others) return others;
      searched.push(...collections);
    }
    return unreadable ?? { kind: 'missing', candidates: suggest(searched, asked.query) };
  }

  /** The skills of the factory that the spec names, or else of the factories of the run; null: no factory is meant. */
  private async factoryShelves(
    asked: Exclude<SkillSpec, { kind: 'invalid' }>,
    teamUid: string | null,
    { factoryUids = [], agentUid }: SkillSearch,
  ): Promise<SkillCollection[] | null> {
    const uids = asked.kind === 'anywhere' ? new Set(factoryUids) : namedFactory(asked);
    if (uids === null) return null;
    const collections: SkillCollection[] = [];
    if (teamUid === null) return collections;
    for (const repo of uids) {
      const found = await this.factories.find(repo, teamUid, agentUid ?? null);
      collections.push(...found.map((skills) => ({ owner: BUNDLED_OWNER, repo, skills })));
    }
    return collections;
  }

  private async searchPlan(
    caller: Caller,
    teamUid: string | null,
    asked: Exclude<SkillSpec, { kind: 'invalid' }>,
    environmentUid: string | undefined,
  ): Promise<SearchPlan> {
    if (asked.kind === 'repository' && isBundled(asked.owner, asked.repo)) return { tiers: [], shared: [] };
    const isMeant = ({ owner, name }: SkillRepository): boolean => {
      if (asked.kind === 'anywhere') return true;
      if (name.toLowerCase() !== asked.repo.toLowerCase()) return false;
      return asked.kind === 'repo_name' || owner.toLowerCase() === asked.owner.toLowerCase();
    };
    const tiers: Tier[] = [];
    if (environmentUid !== undefined) {
      const environment = await this.environments.findUsable(environmentUid, { teamUid, caller });
      const near = await this.repositories.ofEnvironments(environment ? [environment] : [], caller);
      const repositories = near.map(({ repository }) => repository).filter(isMeant);
      if (repositories.length > 0) tiers.push({ isFirm: true, repositories });
      if (repositories.length > 0 && asked.kind === 'repository') return { tiers, shared: [] };
    }
    const all = (await this.repositories.ofCaller(caller)).filter(({ repository }) => isMeant(repository));
    const own = repositoriesOf(all, true);
    const shared = repositoriesOf(all, false);
    if (asked.kind !== 'repository') return { tiers: [...tiers, { isFirm: false, repositories: own }], shared };
    if (own.length > 0) return { tiers: [{ isFirm: true, repositories: own }], shared: [] };
    // Whose name it is on GitHub, GitHub says; another's credential may open it all the same.
    const opened = shared.filter(({ isGithub }) => isGithub);
    const named = opened.length > 0 ? opened : [this.repositories.publicOne(asked.owner, asked.repo)];
    return { tiers: [{ isFirm: false, repositories: named }], shared: shared.filter(({ isGithub }) => !isGithub) };
  }

  private async read(
    repositories: readonly SkillRepository[],
    waitMs: number,
  ): Promise<{ collections: SkillCollection[]; failure: Unreadable | undefined }> {
    const collections: SkillCollection[] = [];
    let failure: Unreadable | undefined;
    const readings = await Promise.all(repositories.map((one) => this.cache.get(one, false, waitMs)));
    for (const [index, { owner, name: repo }] of repositories.entries()) {
      const reading = readings[index];
      if (reading?.kind === 'read') collections.push({ owner, repo, skills: reading.skills });
      else failure ??= reading;
    }
    return { collections, failure };
  }

  private bundledCollection(asked: Exclude<SkillSpec, { kind: 'invalid' }>): SkillCollection | null {
    if (asked.kind === 'repository' && !isBundled(asked.owner, asked.repo)) return null;
    if (asked.kind === 'repo_name' && asked.repo.toLowerCase() !== BUNDLED_NAME) return null;
    return { owner: BUNDLED_OWNER, repo: BUNDLED_NAME, skills: this.bundled.skills };
  }
}

/** A factory's skills are called as those that ship with us are, with the factory's uid for a repository. */
function namedFactory(asked: Exclude<SkillSpec, { kind: 'invalid' }>): readonly string[] | null {
  const isNamed = asked.kind === 'repository' && asked.owner.toLowerCase() === BUNDLED_OWNER && isUid(asked.repo);
  return isNamed ? [asked.repo] : null;
}

/** Where environments name several states of a repository, the default branch's comes first. */
function repositoriesOf(all: readonly EnvironmentRepository[], isOwn: boolean): SkillRepository[] {
  const repositories = all.filter((one) => one.isOwn === isOwn).map(({ repository }) => repository);
  return repositories.sort((a, b) => Number(a.ref !== undefined) - Number(b.ref !== undefined));
}

/** null: none of the skills is meant. */
function conclude(collections: readonly SkillCollection[], query: SkillQuery): ResolvedSkill | null {
  const matches = new Map<string, Match>();
  for (const { owner, repo, skills } of collections) {
    for (const skill of findSkills(skills, query)) {
      const match = { owner, repo, skill };
      if (!matches.has(idOf(match))) matches.set(idOf(match), match);
    }
  }
  const [first, ...others] = matches.values();
  if (!first) return null;
  if (others.length > 0) return { kind: 'ambiguous', candidates: [...matches.keys()].slice(0, MAX_CANDIDATES) };
  return toResolved(first);
}

function toResolved({ owner, repo, skill }: Match): ResolvedSkill {
  const { path, parsed } = skill;
  if (parsed.kind === 'malformed') return { kind: 'malformed', error: parsed.error };
  const { description, body } = parsed;
  const bundled = isBundled(owner, repo) ? { bundledSkillId: directoryName(path) } : {};
  const id = idOf({ owner, repo, skill });
  return { kind: 'found', skill: { id, name: nameOf(skill), description, body, owner, repo, path, ...bundled } };
}

function suggest(collections: readonly SkillCollection[], { name }: SkillQuery): string[] {
  const ids = new Map<string, string[]>();
  for (const { owner, repo, skills } of collections) {
    for (const skill of skills) {
      if (!skill.listed || skill.parsed.kind !== 'skill') continue;
      ids.set(nameOf(skill), [...(ids.get(nameOf(skill)) ?? []), idOf({ owner, repo, skill })]);
    }
  }
  const near = nearMisses(name, [...ids.keys()]);
  const names = near.length > 0 ? near : [...ids.keys()].sort();
  return [...new Set(names.flatMap((known) => ids.get(known) ?? []))].slice(0, MAX_CANDIDATES);
}
