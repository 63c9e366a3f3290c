import type { Caller } from '#libs/auth';

/** A skill as a run uses it. */
export interface Skill {
  /** Full spec: `owner/repo:path/to/SKILL.md`; of a bundled skill `headrace/bundled:<id>/SKILL.md`. */
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

/** What other rooms may ask about skills. */
export abstract class SkillDirectory {
  /**
   * The skill that a spec names, in one of its forms: `owner/repo:name`, `owner/repo:path/to/SKILL.md`, `repo:name`,
   * `repo:path`, `:path`, or `name` alone. `teamUid`: of the run, null for a personal one. With `environmentUid` the
   * repositories of that environment are looked at first. `waitMs`: for each step of the search, how long repositories are
   * waited for that are not known yet; default 15 seconds. Reading them goes on. Never throws for what stands in `spec`.
   */
  abstract resolve(
    caller: Caller,
    teamUid: string | null,
    spec: string,
    environmentUid?: string,
    waitMs?: number,
  ): Promise<ResolvedSkill>;
}
