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

it('resolves every relative link of every document', () => {
  const files = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => existsSync(join(ROOT, file))).flatMap(brokenLinks)).toEqual([]);
});
