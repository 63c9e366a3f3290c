import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const LAYERS = ['platform', 'domain', 'execution'];

const directories = (path: string): string[] =>
  readdirSync(new URL(path, ROOT), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${path}/${name}`);

/** The paths of the directories in the first code block of ARCHITECTURE.md, which indents each level by two spaces. */
function documentedDirectories(): string[] {
  const [, tree = ''] = readFileSync(new URL('ARCHITECTURE.md', ROOT), 'utf8').split('```');
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const match = /^((?: {2})*)([\w-]+)\/(?= |$)/.exec(line);
    if (!match) return [];
    const [, indent = '', name = ''] = match;
    parents.length = indent.length / 2;
    parents.push(name);
    return [parents.join('/')];
  });
}

describe('the tree in ARCHITECTURE.md', () => {
  const documented = documentedDirectories();

  it.each(LAYERS)('lists exactly the libraries of libs/%s', (layer) => {
    const listed = documented.filter((path) => path.startsWith(`libs/${layer}/`));
    expect(listed.toSorted()).toEqual(directories(`libs/${layer}`).toSorted());
  });

  it('lists exactly the layers and the testing library', () => {
    const listed = documented.filter((path) => /^libs\/[^/]+$/.test(path));
    expect(listed.toSorted()).toEqual(directories('libs').toSorted());
  });

  it('lists exactly the applications', () => {
    const listed = documented.filter((path) => path.startsWith('apps/'));
    expect(listed.toSorted()).toEqual(directories('apps').toSorted());
  });
});
