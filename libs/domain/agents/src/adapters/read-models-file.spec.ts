import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SettingsError } from '#platform/config';
import { readModelsFile } from './offered-models.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-models-'));
afterAll(() => rmSync(directory, { recursive: true }));

function fileWith(content: string): string {
  const path = join(directory, 'models.json');
  writeFileSync(path, content);
  return path;
}

function problemsOf(content: string): readonly string[] {
  try {
    readModelsFile(fileWith(content));
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

const HOUSE = { id: 'house', display_name: 'House', provider: 'UNKNOWN', vision_supported: true };
const idsOf = (path: string) =>
  readModelsFile(path)
    .forDefault(null)
    .models.map(({ id }) => id);

describe('readModelsFile', () => {
  it('replaces the built-in list, but for auto', () => {
    expect(idsOf(fileWith(JSON.stringify({ models: [HOUSE] })))).toEqual(['auto', 'house']);
    const renamed = { ...HOUSE, id: 'auto', display_name: 'Whatever is best' };
    expect(idsOf(fileWith(JSON.stringify({ models: [HOUSE, renamed] })))).toEqual(['house', 'auto']);
    expect(idsOf('')).toContain('gpt-5');
  });

  it('lists every fault with its place', () => {
    const models = [{ ...HOUSE, provider: 'ACME' }, { ...HOUSE, id: ' ' }, { id: 'x' }, HOUSE];
    const problems = problemsOf(JSON.stringify({ models, default: 'x' }));
    for (const place of [
      'models[0].provider',
      'models[1].id',
      'models[2].display_name',
      'models[2].provider',
      'models[2].vision_supported',
      'the file',
    ])
      expect(problems.filter((line) => line.startsWith(`MODELS_FILE, ${place}:`))).toHaveLength(1);
    expect(problems).toHaveLength(6);
  });

  it('refuses the same id twice', () => {
    expect(problemsOf(JSON.stringify({ models: [HOUSE, HOUSE] }))).toEqual([
      'MODELS_FILE, models[1].id: is that of models[0] too.',
    ]);
  });

  it.each(['', '{', '[]', '{"models": []}', 'null'])('refuses %j', (content) => {
    expect(problemsOf(content)).toHaveLength(1);
  });
});
