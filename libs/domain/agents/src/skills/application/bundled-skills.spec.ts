import { describe, expect, it } from 'vitest';
import { BundledSkills } from './bundled-skills.js';
import { directoryName } from '../domain/skill-files.js';

describe('the bundled skills', () => {
  const shipped = new BundledSkills();
  shipped.onModuleInit();

  it('are a set that is useful', () => {
    expect(shipped.skills.map(({ path }) => directoryName(path))).toEqual([
      'fix-failing-tests',
      'review-changes',
      'triage-issue',
      'update-dependencies',
      'write-docs',
      'write-tests',
    ]);
  });

  it.each(shipped.skills)('$path parses, and is named by its directory', ({ path, parsed }) => {
    if (parsed.kind !== 'skill') throw new Error(parsed.error);
    expect(parsed.name).toBe(directoryName(path));
    expect(parsed.description.length).toBeGreaterThan(40);
    expect(parsed.body).toContain('$ARGUMENTS');
    // The built-in agent executes such blocks.
    expect(parsed.body).not.toMatch(/^(```|~~~)/m);
  });
});
