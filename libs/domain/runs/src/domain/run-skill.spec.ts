import { describe, expect, it } from 'vitest';
import { MAX_CONFIG_BYTES } from './resolve-config.js';
import { applySkills, type ChosenSkill, isFullSpec } from './run-skill.js';

const skill = (name: string, changes: Partial<ChosenSkill> = {}): ChosenSkill => ({
  asked: `acme/app:${name}`,
  id: `acme/app:skills/${name}/SKILL.md`,
  name,
  description: '',
  body: `Do ${name} with $0.`,
  owner: 'acme',
  repo: 'app',
  ...changes,
});

describe('applySkills', () => {
  it('leaves everything else as it was, and adds no base prompt for instructions that say nothing', () => {
    const config = { model_id: 'm', skills: ['acme/app:one'], skill_spec: 'acme/app:one' };
    expect(applySkills(config, [skill('one', { body: '' })], 'x')).toEqual({
      kind: 'applied',
      config: { model_id: 'm', name: 'one', skills: [skill('one').id], skill_spec: skill('one').id },
      skill: { name: 'one', description: '', full_path: skill('one').id, specs: ['acme/app:one'] },
    });
  });

  it('remembers other specs of the skill once, and never the full one', () => {
    const specsOf = (asked: string): readonly string[] | undefined => {
      const applied = applySkills({}, [skill('one', { asked })], 'x');
      return applied.kind === 'applied' ? applied.skill.specs : undefined;
    };
    expect(specsOf(':one')).toEqual([':one', 'acme/app:one']);
    expect(specsOf('acme/app:one')).toEqual(['acme/app:one']);
    expect(specsOf(skill('one').id)).toEqual(['acme/app:one']);
  });

  it('cuts a name that is longer than names of runs may be', () => {
    const applied = applySkills({}, [skill('😀'.repeat(300))], 'x');
    expect(applied).toMatchObject({ config: { name: '😀'.repeat(256) } });
  });

  it('refuses instructions that outgrow the configuration by their arguments', () => {
    const greedy = skill('one', { body: '$ARGUMENTS'.repeat(10) });
    expect(applySkills({}, [greedy], 'x'.repeat(MAX_CONFIG_BYTES / 8))).toEqual({ kind: 'too_large' });
    expect(applySkills({}, [greedy], 'x'.repeat(100))).toMatchObject({ kind: 'applied' });
  });
});

describe('isFullSpec', () => {
  it.each([
    ['acme/app:SKILL.md', true],
    ['acme/app:.agents/skills/review/SKILL.md', true],
    ['acme/app:a b/ä/SKILL.md', true],
    ['acme/app:review', false],
    ['app:skills/review/SKILL.md', false],
    [':skills/review/SKILL.md', false],
    ['acme/app:xSKILL.md', false],
    ['acme/app:SKILL.md/more', false],
    ['a/b/c:SKILL.md', false],
    ['review', false],
  ])('%s: %s', (spec, expected) => {
    expect(isFullSpec(spec)).toBe(expected);
  });
});
