import { Injectable } from '@nestjs/common';
import type { PickedFile } from '../domain/skill-files.js';

/** Who reads: nobody in particular, or by a managed secret of a team. */
export interface SkillCredential {
  /** Changes with the secret's value, and holds nothing of it. */
  readonly identity: string;
  /** In clear, when it is needed; null: it is gone. */
  open(): Promise<SkillLogin | Unreadable | null>;
}

export interface SkillLogin {
  readonly username?: string;
  readonly password: string;
  /** Of a password that changes. */
  readonly identity?: string;
}

export interface SkillRepository {
  /** As skills are named by it. */
  readonly owner: string;
  readonly name: string;
  readonly url: string;
  /** Branch, tag or commit; the default branch when absent. */
  readonly ref?: string;
  /** Whether `owner` and `name` are those of GitHub. */
  readonly isGithub: boolean;
  readonly credential?: SkillCredential;
  /** The team or person in whose environment it stands: readings are shared out among them. Absent: everybody. */
  readonly readFor?: string;
}

export function keyOf({ url, ref, credential }: SkillRepository): string {
  return JSON.stringify([url, ref ?? null, credential?.identity ?? null]);
}

export interface SourceFile extends PickedFile {
  /** null: too large (`fault`), or known already. */
  readonly content: Uint8Array | null;
}

/** `detail` is a sentence for callers; `retryable`: a later reading may succeed. */
export interface Unreadable {
  readonly kind: 'unreadable';
  readonly detail: string;
  readonly retryable: boolean;
}

/** `files`: as `pickSkillFiles` picks them. */
export type SourceReading = { readonly kind: 'read'; readonly files: readonly SourceFile[] } | Unreadable;

export const unreadable = (detail: string, retryable: boolean): Unreadable => ({
  kind: 'unreadable',
  detail,
  retryable,
});

export const REPOSITORY_NOT_FOUND = 'There is no such repository, or it may not be read.';
export const REF_NOT_FOUND = 'The repository has no branch, tag or commit of this name.';
export const SECRET_NOT_FOUND = unreadable(
  'The managed secret that the environment names for the repository is not there.',
  false,
);

/**
 * A way to read the skills of repositories. It follows no link and no submodule, so nothing outside the repository is
 * ever read, and never reads more of a file than `MAX_SKILL_BYTES`.
 */
export abstract class SkillSource {
  abstract readonly id: string;
  abstract reads(repository: SkillRepository): boolean;
  /** `known`: ids of contents that need not be read again. Rejects only through faults of ours, and by the signal. */
  abstract read(repository: SkillRepository, known: ReadonlySet<string>, signal: AbortSignal): Promise<SourceReading>;
}

/** The sources of this process; the one that was registered last is asked first. */
@Injectable()
export class SkillSources {
  private readonly sources: SkillSource[] = [];

  register(source: SkillSource): void {
    if (this.sources.some(({ id }) => id === source.id)) throw new Error(`There are two skill sources ${source.id}.`);
    this.sources.unshift(source);
  }

  find(repository: SkillRepository): SkillSource | null {
    return this.sources.find((source) => source.reads(repository)) ?? null;
  }
}
