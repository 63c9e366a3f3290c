import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parsePayloadFilter } from '../../libs/domain/automations/src/domain/payload-filter/parse.js';

const PAGE = readFileSync(new URL('../../docs/webhooks/payload-filters.md', import.meta.url), 'utf8');
const isWhole = (text: string): boolean => text.startsWith('{') && !text.includes('…');
const inline = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '').filter(isWhole);
const [before = '', invalid = ''] = PAGE.split('## Invalid filters');
const [table = ''] = invalid.split('\n\nA value that occurs twice');

describe('the page on payload filters', () => {
  it('contains valid examples', () => {
    const blocks = [...before.matchAll(/```json\n([^`]+)```/g)].map(([, code]) => JSON.parse(code ?? ''));
    expect(blocks).toHaveLength(2);
    // Of a table: what a key can have.
    const values = inline(before.replaceAll(/```[^`]+```/g, '')).map((text) => ({ key: JSON.parse(text) }));
    expect(values.length).toBeGreaterThan(8);
    for (const filter of [blocks[0].filter.payload, blocks[1], ...values]) {
      expect(parsePayloadFilter(filter), JSON.stringify(filter)).toMatchObject({ kind: 'valid' });
    }
  });

  it('lists only filters that are rejected as invalid', () => {
    const rows = table.split('\n').filter((line) => line.startsWith('| `{'));
    const filters = rows.flatMap((line) => inline(line.split('|')[1] ?? ''));
    expect(filters.length).toBeGreaterThan(3);
    for (const filter of filters) expect(parsePayloadFilter(JSON.parse(filter)).kind, filter).toBe('invalid');
  });
});
