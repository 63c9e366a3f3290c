import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const tracked = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', ...patterns], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n');

/** Without indentation: a document shows a part of a file. */
const lines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join('\n');

it('takes every snippet of docs/extending from code that is compiled and tested', () => {
  // Files that are deleted and not yet committed are listed too.
  const sources = tracked('examples/plugins/**.ts', 'examples/plugins/**.sql', 'libs/**.ts').map((file) =>
    lines(readFileSync(join(ROOT, file), 'utf8')),
  );
  const snippets = tracked('docs/extending/*.md')
    .filter((file) => file !== 'docs/extending/api.md')
    .flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^```(?:ts|sql)\n([\s\S]*?)^```/gm)].map(([, code = '']) => ({
        file,
        code: lines(code).trim(),
      })),
    );
  expect(snippets.length).toBeGreaterThan(8);
  expect(snippets.filter(({ code }) => !sources.some((source) => source.includes(code)))).toEqual([]);
});
