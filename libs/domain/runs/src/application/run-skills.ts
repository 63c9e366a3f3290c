import { Injectable } from '@nestjs/common';
import { type ResolvedSkill, SkillDirectory, type SkillSearch } from '#domain/agents';
import type { Caller } from '#platform/auth';
import type { Issue } from '#platform/kernel';
import { isOversized, MAX_CONFIG_BYTES } from '../domain/resolve-config.js';
import type { AgentConfig, RunOwner } from '#execution/executions';
import type { RunSkill } from '../domain/run.js';
import { applySkills, type ChosenSkill } from '../domain/run-skill.js';

export interface SkillRequest {
  readonly skill?: string;
  readonly config?: AgentConfig;
  readonly agentIdentityUid?: string;
}

export type SkilledConfig =
  | { readonly kind: 'applied'; readonly config: AgentConfig; readonly skill: RunSkill | null }
  /** `others`: further problems of the same kind. */
  | ({ readonly kind: 'invalid'; readonly others: readonly Issue[] } & Issue)
  | ({ readonly kind: 'too_large' } & Issue)
  /** Cannot be read at the moment; the same request may succeed later. */
  | ({ readonly kind: 'unavailable' } & Issue);

/** Finds the skills of new runs and makes them part of the configuration, so that a run executes them as they are now. */
@Injectable()
export class RunSkills {
  constructor(private readonly directory: SkillDirectory) {}

  /** `config`: resolved. `given`: the arguments of the skills. `search`: as of the directory. Costs nothing without a skill. */
  async apply(
    caller: Caller,
    { teamUid }: RunOwner,
    config: AgentConfig,
    {
      request,
      given,
      search,
    }: { readonly request: SkillRequest; readonly given: string; readonly search: Omit<SkillSearch, 'environmentUid'> },
  ): Promise<SkilledConfig> {
    const specs = config.skills ?? [];
    const { environment_id: environmentUid } = config;
    const where = { ...search, ...(environmentUid !== undefined && { environmentUid }) };
    const answers = await Promise.all(
      specs.map(async (spec, index) => ({
        spec,
        place: placeOf(request, spec, index),
        found: await this.directory.resolve(caller, teamUid, spec, where),
      })),
    );
    const [wrong, ...others] = answers.flatMap(({ place, found }) => (isInvalid(found) ? [fault(place, found)] : []));
    if (wrong) return { kind: 'invalid', ...wrong, others };
    const later = answers.find(({ found }) => found.kind === 'unreadable');
    if (later) return { kind: 'unavailable', ...fault(later.place, later.found) };
    const [first, ...rest] = answers.flatMap(({ spec, found }): ChosenSkill[] =>
      found.kind === 'found' ? [{ ...found.skill, asked: spec }] : [],
    );
    if (!first) return { kind: 'applied', config, skill: null };
    const applied = applySkills(config, [first, ...rest], given);
    if (applied.kind === 'too_large' || isOversized(applied.config))
      return { kind: 'too_large', pointer: placeOf(request, first.asked, 0).pointer, detail: TOO_LARGE };
    return { kind: 'applied', config: applied.config, skill: applied.skill };
  }
}

const TOO_LARGE = `must leave the configuration at most ${MAX_CONFIG_BYTES} bytes as JSON, with the instructions of the skills and their arguments`;

interface Place {
  readonly pointer: string;
  /** The skill, if the request does not name it but an agent identity does. */
  readonly implied: string | null;
}

function placeOf({ skill, config, agentIdentityUid }: SkillRequest, spec: string, index: number): Place {
  if (skill !== undefined) return { pointer: '/skill', implied: null };
  if (config?.skills !== undefined) return { pointer: `/config/skills/${index}`, implied: null };
  if (config?.skill_spec !== undefined) return { pointer: '/config/skill_spec', implied: null };
  return { pointer: agentIdentityUid === undefined ? '/config/skills' : '/agent_identity_uid', implied: spec };
}

const isInvalid = (found: ResolvedSkill): boolean =>
  found.kind !== 'found' && !(found.kind === 'unreadable' && found.retryable === true);

function fault({ pointer, implied }: Place, found: ResolvedSkill): Issue {
  const detail = problemOf(found);
  return { pointer, detail: implied === null ? detail : `refers to the skill ${implied}, which ${detail}` };
}

function problemOf(found: ResolvedSkill): string {
  switch (found.kind) {
    case 'found':
      return 'names a skill';
    case 'ambiguous':
      return `is ambiguous; use a fully qualified name: ${found.candidates.join(', ')}`;
    case 'missing':
      return found.candidates.length === 0
        ? 'names no skill that exists and that you may use'
        : `names no skill that exists and that you may use; did you mean one of these: ${found.candidates.join(', ')}`;
    case 'malformed':
      return `names a skill that cannot be used: ${clause(found.error)}`;
    case 'unreadable':
      return `names a skill whose repository cannot be read: ${clause(found.detail)}`;
  }
}

const clause = (sentence: string): string => sentence.trim().replace(/\.$/, '');
