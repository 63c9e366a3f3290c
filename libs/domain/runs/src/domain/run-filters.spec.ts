import { describe, expect, it } from 'vitest';
import { mayBeMisspelt, searchWords, typoPattern } from './run-filters.js';

const LETTER = '[\\p{L}\\p{N}]';
const pattern = (word: string): RegExp => new RegExp(typoPattern(word, LETTER, LETTER.replace('[', '[^')), 'u');

describe('the words of a search', () => {
  it.each([
    ['Fix the  parser', ['Fix', 'the', 'parser']],
    ['fix, FIX; Fix!', ['fix']],
    ['src/app.ts:12', ['src', 'app', 'ts', '12']],
    ['100% _x_ \\', ['100', 'x']],
    ['Zürich 東京', ['Zürich', '東京']],
    ['%_', []],
  ])('%s', (text, words) => {
    expect(searchWords(text)).toEqual(words);
  });

  it.each([
    ['deploy', true],
    ['team', true],
    ['fix', false],
    ['4711', false],
    ['v123', false],
    ['x'.repeat(40), true],
    ['x'.repeat(41), false],
  ])('%s may be misspelt: %s', (word, expected) => {
    expect(mayBeMisspelt(word)).toBe(expected);
  });
});

describe('a misspelt word', () => {
  it.each(['deploy', 'delpoy', 'deploi', 'deploys', 'deplo', 'eploy', 'depploy', 'now deplyo', 'x.dxploy'])(
    'finds %s',
    (text) => {
      expect(pattern('deploy').test(text)).toBe(true);
    },
  );

  it.each(['depl', 'xx deplxx', 'redelpoy', 'dploi', 'plodey'])('does not find %s', (text) => {
    expect(pattern('deploy').test(text)).toBe(false);
  });

  it('of four letters: only two of them swapped', () => {
    expect(pattern('team').test('taem')).toBe(true);
    for (const text of ['tea', 'teams'.slice(1), 'term']) expect(pattern('team').test(text)).toBe(false);
  });
});
