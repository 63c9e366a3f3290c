import { type ResolvedSkill, type Skill, SkillDirectory } from '#domain/agents';

const PLACE = '.agents/skills';

/**
 * Lets an application find skills without any repository. A spec among `answers` gets that answer; of any other, whatever
 * comes last in it names a skill of `acme/app`, or of the repository that the spec names:
 *
 *   offerSkills(fixture.api.app, { 'acme/app:gone': { kind: 'missing', candidates: [] } });
 *
 * Returns the specs that were asked for, as they are asked for.
 */
export function offerSkills(
  app: { get(part: typeof SkillDirectory, options: { strict: boolean }): SkillDirectory },
  answers: Readonly<Record<string, ResolvedSkill>> = {},
): string[] {
  const asked: string[] = [];
  const directory = app.get(SkillDirectory, { strict: false });
  directory.resolve = (_caller, _teamUid, spec) => {
    asked.push(spec);
    return Promise.resolve(answers[spec] ?? { kind: 'found', skill: offeredSkill(spec) });
  };
  return asked;
}

/** The skill that such a spec names. */
export function offeredSkill(spec: string, changes: Partial<Skill> = {}): Skill {
  const [repository = '', place = ''] = spec.includes(':') ? spec.split(/:(.*)/s) : ['', spec];
  const [owner = '', repo = ''] = repository.includes('/') ? repository.split('/') : ['acme', repository || 'app'];
  const path = place.endsWith('SKILL.md') ? place : `${PLACE}/${place}/SKILL.md`;
  const name = path.split('/').at(-2) ?? place;
  const id = `${owner}/${repo}:${path}`;
  return { id, name, description: `Does ${name}.`, body: `How to ${name}.`, owner, repo, path, ...changes };
}
