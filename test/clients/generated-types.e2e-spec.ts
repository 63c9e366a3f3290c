import { beforeAll, describe, expect, it } from 'vitest';
import { renderOpenApi } from '../../apps/api/src/openapi.js';
import { isLong } from '../support/long-tests.js';
import { compileErrors, generateTypes, operationsIn, PROGRAMS, textOf } from './typed-programs.js';

let document: string;
let schema: string;

beforeAll(async () => {
  document = await renderOpenApi();
  schema = await generateTypes(document);
}, 60_000);

const programs = Object.fromEntries(['answer', ...PROGRAMS].map((name) => [name, textOf(name)]));
const publishedTypes = textOf('published-types');

describe('types generated from openapi.json', () => {
  it('compile with the example programs in strict mode', async () => {
    expect(await compileErrors({ ...programs, schema })).toEqual([]);
  }, 60_000);

  it.runIf(isLong)(
    'cause a compile error in a program that uses a value missing from the document',
    async () => {
      const poorer = schema.replace('FollowupOutcome: "queued_prompt"', 'FollowupOutcome: "somewhere"');
      const runs = programs.runs?.replace(
        'return outcome;',
        "return outcome === 'queued_prompt' ? outcome : 'live_session';",
      );
      const found = await compileErrors({ answer: programs.answer ?? '', runs: runs ?? '', schema: poorer });
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(/^runs.ts:\d+ .*no overlap/);
    },
    60_000,
  );

  it('are used by an example program for every documented operation', () => {
    const { paths } = JSON.parse(document) as { paths: Record<string, object> };
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const used = new Set(PROGRAMS.flatMap(operationsIn));
    expect(documented.filter((operation) => !used.has(operation))).toEqual([]);
  });
});

describe('types of the published client', () => {
  it('accept our responses except for the listed unknown enum members', async () => {
    expect(await compileErrors({ 'published-types': publishedTypes, schema })).toEqual([]);
  }, 60_000);

  const changes: readonly (readonly [what: string, there: string, instead: string, names: readonly string[]])[] = [
    ['a field that they require is optional', 'run_id: string;', 'run_id?: string;', ['run', 'list']],
    [
      'a field that they declare as optional is missing',
      'is_sandbox_running?: boolean;',
      '',
      ['runFields', 'listFields'],
    ],
    ['a nested field is missing', 'notebook_uid?: string;', '', ['runFields', 'listFields']],
    ['a field has another type', 'started_at?: string | null;', 'started_at?: number;', ['run', 'list']],
    ['an enum has an additional member', 'RunState: "QUEUED"', 'RunState: "DREAMING" | "QUEUED"', ['states']],
    ['an enum lacks a member', 'RunState: "QUEUED" | ', 'RunState: ', ['allStates']],
    ['a filter has another name', 'model_id?: string;', 'model_ids?: string;', ['filterFields']],
  ];
  /** Of all changes, each in a separate directory: the compiler reads its library once. */
  let errors: readonly string[];
  beforeAll(async () => {
    const files = changes.flatMap(([, there, instead], index) => [
      [`${index}/published-types`, publishedTypes],
      [`${index}/schema`, schema.replaceAll(there, instead)],
    ]);
    errors = await compileErrors(Object.fromEntries(files) as Record<string, string>);
  }, 60_000);

  it.each(changes.map((change, index) => [...change, index] as const))(
    'cause a compile error when %s',
    (_what, there, instead, names, index) => {
      expect(schema.replaceAll(there, instead)).not.toBe(schema);
      const lines = publishedTypes.split('\n');
      const found = errors
        .filter((error) => error.startsWith(`${index}/`))
        .map((error) => {
          const line = lines[Number(/:(\d+) /.exec(error)?.[1]) - 1] ?? '';
          return /^export const (\w+)/.exec(line)?.[1] ?? error;
        });
      expect(found).toEqual(expect.arrayContaining([...names]));
    },
  );
});
