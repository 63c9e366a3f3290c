import type { Caller } from '#platform/auth';

/** A skill as a run uses it. */
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
  /** Within the repository. */
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

/** Where a skill is looked for, besides what the caller has. */
export interface SkillSearch {
  /** Its repositories are looked at before all others. */
  readonly environmentUid?: string;
  /**
   * The factory that the run works for, and the one whose agent executes it. The skills of their definitions come first of
   * all, so far as they are the team's.
   */
  readonly factoryUids?: readonly string[];
  /** The agent identity that executes the run. */
  readonly agentUid?: string;
  /** For each step of the search, how long repositories are waited for that are not known yet; default 15 seconds. */
  readonly waitMs?: number;
}

/** Skills for other libraries. */
export abstract class SkillDirectory {
  /**
   * The skill that a spec names, in one of its forms: `owner/repo:name`, `owner/repo:path/to/SKILL.md`, `repo:name`,
   * `repo:path`, `:path`, or `name` alone. `teamUid`: of the run, null for a personal one. Reading repositories continues
   * when nobody waits any longer. Never throws because of the content of `spec`.
   */
  abstract resolve(caller: Caller, teamUid: string | null, spec: string, search?: SkillSearch): Promise<ResolvedSkill>;
}
