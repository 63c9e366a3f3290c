import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repositoryNameOf } from './skill-spec.js';
import { directoryRank, isSkillFile } from './skill-files.js';
import { parseRepositoryName, parseSkillSpec } from './skill-spec.js';

describe('parseSkillSpec', () => {
  it.each([
    ['acme/tools:review', { kind: 'repository', owner: 'acme', repo: 'tools', query: { paths: [], name: 'review' } }],
    ['acme/tools:a/b/SKILL.md', { kind: 'repository', query: { paths: ['a/b/SKILL.md'] } }],
    ['acme/tools:.agents/skills/x', { kind: 'repository', query: { paths: ['.agents/skills/x/SKILL.md'] } }],
    ['acme/tools:./a/SKILL.md', { query: { paths: ['a/SKILL.md'] } }],
    ['tools:review', { kind: 'repo_name', repo: 'tools', query: { paths: [], name: 'review' } }],
    [':.agents/skills/x/', { kind: 'anywhere', query: { paths: ['.agents/skills/x/SKILL.md'] } }],
    [':SKILL.md', { kind: 'anywhere', query: { paths: ['SKILL.md'] } }],
    ['Review things', { kind: 'anywhere', query: { paths: [], name: 'Review things' } }],
    ['acme/tools:a/../../x/SKILL.md', { query: { paths: [] } }],
    ['acme/tools:name: with colon', { query: { name: 'name: with colon' } }],
  ])('reads %j', (spec, expected) => {
    expect(parseSkillSpec(spec)).toMatchObject(expected);
  });

  it.each(['', ':', 'acme/tools:', 'a/b/c:x', '../x:y', 'a/..:y', '-a/b:c', 'a b:c', 'x'.repeat(1025), 'a/b:\uD800'])(
    'refuses %j',
    (spec) => {
      expect(parseSkillSpec(spec)).toEqual({ kind: 'invalid' });
    },
  );

  it('takes any text, and no path leaves its repository', () => {
    const part = fc.constantFrom('/', '..', '.', ':', 'SKILL.md', 'a', '\\', '\0', ' ', '//', '.git');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(part).map((parts) => parts.join('')),
        ),
        (spec) => {
          const parsed = parseSkillSpec(spec);
          if (parsed.kind === 'invalid') return;
          for (const path of parsed.query.paths)
            expect(path.split('/').some((step) => /^\.{0,2}$/.test(step))).toBe(false);
          if (parsed.kind === 'repository')
            expect(parseRepositoryName(`${parsed.owner}/${parsed.repo}`)).not.toBeNull();
        },
      ),
    );
  });
});

describe('paths of skills', () => {
  it.each([
    ['.agents/skills/a/SKILL.md', 0],
    ['.opencode/skills/a/SKILL.md', 9],
    ['.agents/skills/SKILL.md', -1],
    ['.agents/skills/a/b/SKILL.md', -1],
    ['x/.agents/skills/a/SKILL.md', -1],
    ['.other/skills/a/SKILL.md', -1],
    ['.agents/skills/a/skill.md', -1],
  ])('ranks %s as %i', (path, rank) => {
    expect(directoryRank(path)).toBe(rank);
  });

  it.each(['/SKILL.md', 'a//SKILL.md', '../SKILL.md', 'a/NOTSKILL.md', 'a\n/SKILL.md', 'a\u202e/SKILL.md'])(
    'does not take %j for a skill’s',
    (path) => {
      expect(isSkillFile(path)).toBe(false);
    },
  );
});

describe('repositoryNameOf', () => {
  it.each([
    ['https://git.example.com/group/sub/tools.git', 'sub/tools'],
    ['git@example.com:acme/tools.git', 'acme/tools'],
    ['ssh://git@example.com:22/acme/tools', 'acme/tools'],
    ['file:///srv/repos/tools/', 'repos/tools'],
    ['/srv/my repos/tools', 'my-repos/tools'],
    ['/tools', 'local/tools'],
    ['/srv/tools/.git', 'srv/tools'],
  ])('names %s %s', (url, name) => {
    const found = repositoryNameOf(url);
    expect(`${found.owner}/${found.name}`).toBe(name);
  });
});
