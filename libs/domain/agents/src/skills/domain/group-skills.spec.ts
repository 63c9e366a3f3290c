import { describe, expect, it } from 'vitest';
import { byLastRun, findSkills, type FoundSkill, groupSkills } from './found-skill.js';

const skill = (path: string, oid: string, name: string | null = null): FoundSkill => ({
  path,
  oid,
  parsed: { kind: 'skill', name, description: '', body: oid },
  listed: true,
});
const at = (place: string) => ({ uid: place, name: place });

describe('groupSkills', () => {
  it('puts equal content of several environments together, and keeps what differs', () => {
    const path = '.agents/skills/a/SKILL.md';
    const groups = groupSkills([
      { owner: 'acme', repo: 'tools', skill: skill(path, '1'), environments: [at('one')] },
      { owner: 'acme', repo: 'tools', skill: skill(path, '1'), environments: [at('two'), at('one')] },
      { owner: 'acme', repo: 'tools', skill: skill(path, '2'), environments: [at('three')] },
    ]);
    expect(groups).toHaveLength(1);
    expect(groups[0]?.variants.map(({ environments }) => environments.map(({ uid }) => uid))).toEqual([
      ['one', 'two'],
      ['three'],
    ]);
  });

  it('orders names whatever their case, and those that ran last first', () => {
    const of = (name: string) => ({
      owner: 'a',
      repo: 'b',
      skill: skill(`.agents/skills/${name}/SKILL.md`, name),
      environments: [],
    });
    const groups = groupSkills(['b', 'C', 'a', 'B'].map(of));
    expect(groups.map(({ name }) => name)).toEqual(['a', 'B', 'b', 'C']);
    const ran = new Map([
      ['a/b:.agents/skills/C/SKILL.md', new Date(2)],
      ['a/b:.agents/skills/b/SKILL.md', new Date(1)],
    ]);
    expect(byLastRun(groups, ran).map(({ name }) => name)).toEqual(['C', 'b', 'a', 'B']);
  });
});

describe('findSkills', () => {
  const skills = [
    skill('.claude/skills/x/SKILL.md', '1', 'review'),
    skill('.agents/skills/y/SKILL.md', '1', 'review'),
    skill('.warp/skills/review/SKILL.md', '2', 'other'),
    { ...skill('docs/hidden/SKILL.md', '3', 'hidden'), listed: false },
    { ...skill('.codex/skills/bad/SKILL.md', '4'), parsed: { kind: 'malformed' as const, error: 'No.' } },
  ];
  const found = (name: string, paths: string[] = []): string[] =>
    findSkills(skills, { name, paths }).map(({ path }) => path);

  it('takes equal content once, from the directory that comes first', () => {
    expect(found('review')).toEqual(['.agents/skills/y/SKILL.md']);
  });
  it('takes the directory’s name only where no skill has the name', () => {
    expect(found('x')).toEqual(['.claude/skills/x/SKILL.md']);
    expect(found('bad')).toEqual(['.codex/skills/bad/SKILL.md']);
  });
  it('finds what is not listed by its path only', () => {
    expect(found('hidden')).toEqual([]);
    expect(found('docs/hidden', ['docs/hidden/SKILL.md'])).toEqual(['docs/hidden/SKILL.md']);
  });
});
