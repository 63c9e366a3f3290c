import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FRAMEWORK = /^(?:@nestjs\/|(?:bullmq|express|typeorm)$)/;

/** Files that load a framework through the index of another library; none is added to them. */
const KNOWN = [
  'libs/domain/automations/src/domain/automation.ts',
  'libs/domain/automations/src/domain/schedule-trigger.ts',
  'libs/domain/definitions/src/domain/desired-state.ts',
  'libs/domain/definitions/src/domain/export.ts',
  'libs/domain/definitions/src/domain/reading/definition-builder.ts',
  'libs/domain/definitions/src/domain/reading/read-definition.ts',
  'libs/domain/definitions/src/domain/schema/check-value.ts',
  'libs/domain/definitions/src/domain/schema/definition-schemas.ts',
  'libs/domain/definitions/src/domain/writing/write-files.ts',
  'libs/domain/runs/src/domain/resolve-config.ts',
  'libs/domain/runs/src/domain/run-skill.ts',
];

/** What a file imports at run time; imports of types only do not load anything. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const statements = text.matchAll(/^(?:import|export)\s+(?!type\b)(?:([^;'"]*?)\s*from\s+)?'([^']+)'/gm);
  return [...statements].flatMap(([, names = '', source = '']) => {
    const named = /^\{([\s\S]*)\}$/
      .exec(names)?.[1]
      ?.split(',')
      .map((name) => name.trim());
    const isTypesOnly = named?.every((name) => name === '' || name.startsWith('type ')) ?? false;
    return isTypesOnly ? [] : [resolve(file, source)];
  });
}

function resolve(file: string, source: string): string {
  if (source.startsWith('#')) return `libs/${source.slice(1)}/src/index.ts`;
  return source.startsWith('.') ? posix.join(posix.dirname(file), source.replace(/\.js$/, '.ts')) : source;
}

it('loads no framework from domain directories, not even through other libraries', () => {
  const graph = new Map<string, string[]>();
  const reachesFramework = (start: string): boolean => {
    const seen = new Set([start]);
    for (const file of seen) {
      const imports = graph.get(file) ?? importsOf(file);
      graph.set(file, imports);
      if (imports.some((target) => FRAMEWORK.test(target))) return true;
      for (const target of imports) if (target.startsWith('libs/')) seen.add(target);
    }
    return false;
  };
  const files = execFileSync('git', ['ls-files', 'libs/**/domain/*.ts', 'libs/**/domain/**/*.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  }).split('\n');
  const own = [...new Set(files)].filter(
    (file) => /^libs\/.+\/src\/(?:.+\/)?domain\//.test(file) && !file.endsWith('.spec.ts'),
  );
  expect(own.length).toBeGreaterThan(100);
  expect(own.filter((file) => !KNOWN.includes(file)).filter(reachesFramework)).toEqual([]);
});
