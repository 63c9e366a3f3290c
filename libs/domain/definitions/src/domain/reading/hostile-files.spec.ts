import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { processorMs } from '#testing';
import { type DefinitionFile, MAX_FILE_BYTES, MAX_FILES } from '../definition.js';
import { MAX_DIAGNOSTICS } from '../definition.js';
import { readDefinition } from './read-definition.js';

const isLong = process.env.HEADRACE_TEST_LONG === '1';
const KNOWN = { triggers: [{ provider: 'p', event: 'e', schema: { properties: {}, required: [] } }] };
const FACTORY = { path: 'factory.yaml', content: 'schemaVersion: v1alpha1\nname: F\n' };

const FRAGMENTS = [
  '---\n', '...\n', '- ', '? ', ': ', ':\n', '\n', '\r\n', '\r', '  ', '\t', '[', ']', '{', '}', ',', '&a ', '*a ', '!t ', '!!map ', '%YAML 1.1\n',
  '"', "'", '|\n', '>-\n', '#', ' # x\n', '<<: ', 'secretName: ', 'triggers:\n', 'provider: p', 'agentDefaults:\n  ', 'x', '1', '~', 'true',
  '\0', '\uFEFF', '\ud800', '\u0085', '\u2028', '__proto__: ', 'constructor: ', 'warp_id: ', 'mcpServers:\n  a:\n    ',
]; // oxfmt-ignore
const PATHS = [
  'factory.yaml', 'webhooks/a.yaml', 'automations/a/automation.md', 'agents/a/agent.md', 'skills/a/SKILL.md', 'agents/a/skills/b/SKILL.md',
]; // oxfmt-ignore
const content = fc
  .tuple(
    fc.boolean(),
    fc.array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ maxLength: 3 })), { maxLength: 40 }),
  )
  .map(([isFenced, parts]) => (isFenced ? `---\n${parts.join('')}\n---\nPrompt.` : parts.join('')));
const path = fc.oneof(
  fc.constantFrom(...PATHS),
  fc
    .array(fc.constantFrom(...PATHS, '/', '\\', '..', '.yaml', '\0', 'é', 'A'), { maxLength: 4 })
    .map((parts) => parts.join('')),
);

/** Of about so many bytes. */
const BOMBS: Readonly<Record<string, (size: number) => string>> = {
  brackets: (size) => '['.repeat(size),
  closed: (size) => ']'.repeat(size),
  mappings: (size) => '{a: '.repeat(size / 4),
  dashes: (size) => '- '.repeat(size / 2),
  questions: (size) => '? '.repeat(size / 2),
  colons: (size) => ': '.repeat(size / 2),
  'duplicate keys': (size) => 'a: 1\n'.repeat(size / 5),
  'many keys': (size) => Array.from({ length: size / 10 }, (_, index) => `k${index}: 1\n`).join(''),
  laughs: (size) =>
    `a0: &a0 [x, x]\n${Array.from({ length: size / 32 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]\n`).join('')}`,
  aliases: (size) => `a: [${'*a, '.repeat(size / 4)}]\n`,
  tags: (size) => `a: [${'!x y, '.repeat(size / 6)}]\n`,
  documents: (size) => '---\n'.repeat(size / 4),
  directives: (size) => '%a\n'.repeat(size / 3),
  comments: (size) => `a:\n${' #\n'.repeat(size / 3)}`,
  lines: (size) => '\n'.repeat(size),
  quotes: (size) => '"'.repeat(size),
  escapes: (size) => `"${'\\z'.repeat(size / 2)}"`,
  'a long key': (size) => `${'a'.repeat(size)}: 1\n`,
  'a long number': (size) => `secretName: ${'1'.repeat(size)}\n`,
  'servers that are none': (size) =>
    `mcpServers:\n${Array.from({ length: size / 20 }, (_, index) => `  s${index}: {x: 1}\n`).join('')}`,
  'triggers that are none': (size) => `triggers:\n${'- {provider: q}\n'.repeat(size / 16)}`,
  'ever deeper': (size) => Array.from({ length: Math.sqrt(size) }, (_, index) => `${' '.repeat(index)}a:\n`).join(''),
};

const inFile = (name: string, text: string): DefinitionFile =>
  name.endsWith('.md') ? { path: name, content: `---\n${text}\n---\nP.\n` } : { path: name, content: text };

describe('readDefinition', () => {
  it('never throws, and points into the files', () => {
    const files = fc.array(fc.record({ path, content }), { maxLength: 6 });
    fc.assert(
      fc.property(files, (given) => {
        const read = readDefinition([FACTORY, ...given], KNOWN);
        if (read.kind === 'valid') return;
        expect(read.diagnostics.length).toBeGreaterThan(0);
        for (const { path: at, line, column, message } of read.diagnostics) {
          const named = given.filter((file) => file.path === at).map((file) => file.content.split('\n'));
          const longest = Math.max(1, ...named.map((lines) => (lines[line - 1] ?? '').length + 1));
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(Math.max(1, ...named.map((lines) => lines.length)));
          expect(column).toBeGreaterThanOrEqual(1);
          expect(column).toBeLessThanOrEqual(longest);
          expect(message).toMatch(/^[^\0-\x1f]+[.?]$/);
        }
      }),
      { numRuns: isLong ? 1000 : 100 },
    );
  });

  it.each(Object.entries(BOMBS))('is quick about %s', (_, make) => {
    const size = MAX_FILE_BYTES - 16;
    const spent = processorMs(() => {
      expect(readDefinition([FACTORY, inFile('automations/a/automation.md', make(size))], KNOWN).kind).toBe('invalid');
    });
    expect(spent).toBeLessThan(8000);
  });

  it.each(isLong ? ['all of them', 'escapes', 'quotes'] : ['all of them'])(
    'is bounded by the whole definition, not by each file: %s',
    (which) => {
      const makers = which === 'all of them' ? Object.values(BOMBS) : [BOMBS[which]];
      const files = Array.from({ length: MAX_FILES - 1 }, (_, index) =>
        inFile(`webhooks/w${index}.yaml`, makers[index % makers.length]?.(MAX_FILE_BYTES - 16) ?? ''),
      );
      const spent = processorMs(() => {
        const read = readDefinition([FACTORY, ...files], KNOWN);
        if (read.kind === 'valid') throw new Error('It is not.');
        expect(read.diagnostics.length).toBeLessThanOrEqual(MAX_DIAGNOSTICS);
      });
      expect(spent).toBeLessThan(15_000);
    },
  );

  it('says once that a definition is too long', () => {
    const content = `secretName: s\n${'#\n'.repeat(50_000)}`;
    const files = Array.from({ length: MAX_FILES - 1 }, (_, index) => inFile(`webhooks/w${index}.yaml`, content));
    const read = readDefinition([FACTORY, ...files], KNOWN);
    expect(read).toMatchObject({ kind: 'invalid', diagnostics: [{ code: 'yaml_too_long', line: 1, column: 1 }] });
  });

  it('accepts definitions of a realistic size', () => {
    const settings = 'secretName: s\n#\n#\n#\n';
    const filter = Array.from(
      { length: 40 },
      (_, index) => `        key${index}: {nested: {deeper: [one, two, three]}}\n`,
    ).join('');
    const automation = `---\ntriggers:\n  - provider: p\n    event: e\n    filter:\n${filter}---\n${'Prompt.\n'.repeat(8000)}`;
    const known = { triggers: [{ provider: 'p', event: 'e', schema: { properties: { filter: {} }, required: [] } }] };
    const files = Array.from({ length: 120 }, (_, index) => [
      { path: `webhooks/w${index}.yaml`, content: settings },
      { path: `automations/a${index}/automation.md`, content: automation },
    ]).flat();
    const read = readDefinition([FACTORY, ...files], known);
    expect(read).toMatchObject({ kind: 'valid' });
  });
});
