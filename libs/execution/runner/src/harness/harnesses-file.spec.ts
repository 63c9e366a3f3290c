import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { STANDARD_HARNESSES } from './harnesses.js';
import { HarnessesFileError, readHarnessesFile } from './harnesses-file.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-harnesses-'));
afterAll(() => rmSync(directory, { recursive: true }));

function read(content: string) {
  const path = join(directory, 'harnesses.json');
  writeFileSync(path, content);
  return readHarnessesFile(path);
}
const readEntries = (harnesses: object) => read(JSON.stringify({ harnesses }));

function problemsOf(content: string): readonly string[] {
  try {
    read(content);
    return [];
  } catch (error) {
    if (error instanceof HarnessesFileError) return error.problems;
    throw error;
  }
}

describe('readHarnessesFile', () => {
  it('accepts additional agents, which require only a command', () => {
    const { house } = readEntries({ house: { command: '/opt/house/bin/house', secrets: { HOUSE_KEY: 'house-key' } } });
    expect(house).toEqual({
      command: '/opt/house/bin/house',
      args: [],
      install_hint: expect.stringContaining('HARNESSES_FILE'),
      secrets: { HOUSE_KEY: 'house-key' },
    });
    expect(readHarnessesFile('')).toEqual({});
  });

  it('changes only the given fields and variables of a known agent', () => {
    const { claude } = readEntries({ claude: { command: '/opt/claude', env: { ANTHROPIC_BASE_URL: 'http://proxy' } } });
    const known = STANDARD_HARNESSES['claude'];
    expect(claude).toEqual({
      ...known,
      command: '/opt/claude',
      env: { ...known?.env, ANTHROPIC_BASE_URL: 'http://proxy' },
    });
  });

  it('lists every problem with its field, and no value', () => {
    const harnesses = {
      oz: { command: 'x' },
      Über: { command: 'x' },
      house: { args: ['private-value'] },
      a: { command: 'bin/a', env: { HEADRACE_TOKEN: 'private-value' }, usage_scope: 'private-value' },
      b: { command: 'b', comand: 'private-value', transcript_path: '/etc/passwd' },
    };
    const problems = problemsOf(JSON.stringify({ harnesses }));
    for (const place of ['oz', 'Über', 'a.command', 'a.env.HEADRACE_TOKEN', 'a.usage_scope', 'b', 'b.transcript_path'])
      expect(
        problems.filter((line) => line.startsWith(`HARNESSES_FILE, harnesses.${place}:`)),
        place,
      ).toHaveLength(1);
    expect(problems.join(' ')).not.toContain('private-value');
    expect(problemsOf('{"harnesses":{"house":{}}}')).toEqual([
      'HARNESSES_FILE, harnesses.house.command: is required for an unknown agent.',
    ]);
  });

  it.each(['', '{', '[]', '{}', '{"harnesses": []}', 'null'])('refuses %j', (content) => {
    expect(problemsOf(content)).toHaveLength(1);
  });
});
