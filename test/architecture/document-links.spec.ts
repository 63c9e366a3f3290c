import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const withoutCode = (markdown: string): string => markdown.replaceAll(/^(`{3,})[\s\S]*?^\1$/gm, '');

/** The anchor that GitHub generates for a heading: lower case, without punctuation, spaces as hyphens. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/&\w+;/g, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchors = (file: string): string[] =>
  [...withoutCode(readFileSync(file, 'utf8')).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** The links of a file whose target or anchor does not exist. */
function brokenLinks(file: string): string[] {
  const text = withoutCode(readFileSync(join(ROOT, file), 'utf8')).replaceAll(/`[^`\n]*`/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return [];
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? join(ROOT, file) : join(ROOT, dirname(file), path);
    const found = existsSync(target) && (anchor === undefined || anchors(target).includes(anchor));
    return found ? [] : [`${file}: ${link}`];
  });
}

const tracked = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', ...patterns], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(ROOT, file)));

const TOP_LEVEL = /^(?:apps|deploy|docs|examples|libs|scripts|test)\//;
const ARCHITECTURE_DECISION = /^docs\/adr\/\d{4}$/;
const SOURCE_FILE = /\.(?:css|cjs|html|md|mjs|sql|ts)$/;

/**
 * Paths in code spans that do not exist. A path begins with a directory of the root; in the README of a library it may also
 * be the end of the path of one of the library's files. An architecture decision is named by its number.
 */
function missingPaths(file: string): string[] {
  const library = /^libs\/.*(?=README\.md$)/.exec(file)?.[0];
  const ownFiles = library === undefined ? [] : tracked(library);
  const isFound = (path: string): boolean =>
    existsSync(join(ROOT, path)) ||
    ownFiles.some((own) => own.endsWith(`/${path}`)) ||
    (ARCHITECTURE_DECISION.test(path) && tracked(`${path}-*.md`).length > 0);
  return [...withoutCode(readFileSync(join(ROOT, file), 'utf8')).matchAll(/`([\w@.-]+(?:\/[\w@.-]+)*\/?)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => TOP_LEVEL.test(path) || (library !== undefined && SOURCE_FILE.test(path)))
    .filter((path) => !isFound(path))
    .map((path) => `${file}: ${path}`);
}

it('resolves every relative link of every document', () => {
  const files = tracked('*.md');
  expect(files.length).toBeGreaterThan(50);
  expect(files.flatMap(brokenLinks)).toEqual([]);
});

it('has the separator of each table in a separate line, without which no table is shown', () => {
  const broken = tracked('*.md').flatMap((file) =>
    withoutCode(readFileSync(join(ROOT, file), 'utf8'))
      .split('\n')
      .filter((line) => /^\|.*\| ?:?-{3,}/.test(line) && !/^[\s|:-]+$/.test(line))
      .map((line) => `${file}: ${line.slice(0, 80)}`),
  );
  expect(broken).toEqual([]);
});

it('finds every path that a document or the README of a library names', () => {
  const files = tracked('README.md', 'ARCHITECTURE.md', 'AGENTS.md', 'docs/*.md', 'libs/**/README.md');
  expect(files.length).toBeGreaterThan(50);
  expect(files.flatMap(missingPaths)).toEqual([]);
});
