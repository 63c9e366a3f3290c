import { describe, expect, it } from 'vitest';
import type { SkillRepository, SkillSource } from '#domain/agents';
import type { FixtureFiles } from './git/git-fixture.js';

const MAX_SKILL_BYTES = 262_144;

/** What the repositories of {@link skillSourceConformance} have. */
export const CONFORMANCE_FILES: FixtureFiles = {
  'README.md': 'Not a skill.',
  '.agents/skills/b/SKILL.md': 'Two',
  '.agents/skills/a/SKILL.md': 'One',
  '.opencode/skills/same/SKILL.md': 'One',
  '.claude/skills/empty/SKILL.md': '',
  '.claude/skills/bytes/SKILL.md': Buffer.from([0xff, 0x00, 0x0d, 0x0a]),
  '.claude/skills/limit/SKILL.md': 'x'.repeat(MAX_SKILL_BYTES),
  '.claude/skills/over/SKILL.md': 'x'.repeat(MAX_SKILL_BYTES + 1),
  '.gemini/skills/out/SKILL.md': { link: '../../../../../../../../../../etc/passwd' },
  '.gemini/skills/in/SKILL.md': { link: '../../../README.md' },
  '.warp': { link: '.agents' },
  '.agents/skills/x/references/deep/SKILL.md': 'Found by its path only',
  'SKILL.md': 'At the top',
  '.agents/skills/other/skill.md': 'Another name',
};

export interface SkillSourceUnderTest {
  readonly source: SkillSource;
  /** Its default branch has {@link CONFORMANCE_FILES}. */
  readonly full: SkillRepository;
  /** There, without a commit. */
  readonly empty: SkillRepository;
  readonly missing: SkillRepository;
  /** There, but not for anybody who has no credential. */
  readonly closed: SkillRepository;
}

/** What every source of skills must do; `open` is called for each test. */
export function skillSourceConformance(open: () => SkillSourceUnderTest): void {
  const signal = new AbortController().signal;
  const read = async (source: SkillSource, repository: SkillRepository, known: readonly string[] = []) => {
    const reading = await source.read(repository, new Set(known), signal);
    if (reading.kind !== 'read') throw new Error(reading.detail);
    return reading.files;
  };

  describe('as a source of skills', () => {
    it('finds the files, in their order, and follows no link', async () => {
      const { source, full } = open();
      expect(source.reads(full)).toBe(true);
      const files = await read(source, full);
      expect(files.map(({ path }) => path)).toEqual([
        '.agents/skills/a/SKILL.md',
        '.agents/skills/b/SKILL.md',
        '.claude/skills/bytes/SKILL.md',
        '.claude/skills/empty/SKILL.md',
        '.claude/skills/limit/SKILL.md',
        '.claude/skills/over/SKILL.md',
        '.opencode/skills/same/SKILL.md',
        '.agents/skills/x/references/deep/SKILL.md',
        'SKILL.md',
      ]);
      for (const { path, content, fault } of files) {
        const isOver = path.includes('/over/');
        expect(fault === undefined).toBe(!isOver);
        expect(content === null ? null : Buffer.from(content)).toEqual(
          isOver ? null : Buffer.from(CONFORMANCE_FILES[path] as string | Buffer),
        );
      }
    });

    it('gives equal contents one id, and does not read what is known', async () => {
      const { source, full } = open();
      const files = await read(source, full);
      const oidOf = (path: string): string => files.find((file) => file.path === path)?.oid ?? '';
      expect(oidOf('.opencode/skills/same/SKILL.md')).toBe(oidOf('.agents/skills/a/SKILL.md'));
      const again = await read(source, full, [oidOf('.agents/skills/a/SKILL.md')]);
      expect(again.filter(({ content }) => content === null).map(({ path }) => path)).toEqual([
        '.agents/skills/a/SKILL.md',
        '.claude/skills/over/SKILL.md',
        '.opencode/skills/same/SKILL.md',
      ]);
    });

    it('finds nothing in a repository without commits', async () => {
      const { source, empty } = open();
      expect(await read(source, empty)).toEqual([]);
    });

    it('does not tell a repository that is not there from one that may not be read', async () => {
      const { source, missing, closed } = open();
      const readings = await Promise.all([missing, closed].map((one) => source.read(one, new Set(), signal)));
      for (const reading of readings)
        expect(reading).toEqual({
          kind: 'unreadable',
          detail: 'There is no such repository, or it may not be read.',
          retryable: false,
        });
    });

    it('opens nothing by a secret that is gone', async () => {
      const { source, full } = open();
      const credential = { identity: 'gone', open: () => Promise.resolve(null) };
      expect(await source.read({ ...full, credential }, new Set(), signal)).toMatchObject({
        kind: 'unreadable',
        retryable: false,
      });
    });

    it('ends by the signal', async () => {
      const { source, full } = open();
      await expect(source.read(full, new Set(), AbortSignal.abort())).rejects.toThrow();
    });
  });
}
