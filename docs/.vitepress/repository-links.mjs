import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Documents of the root that are pages of the site. */
const PROJECT_DOCUMENTS = ['README', 'ARCHITECTURE', 'CHANGELOG', 'CONTRIBUTING', 'SECURITY'];
const pageOf = (document) => `project/${document.toLowerCase()}.md`;

export const PROJECT_PAGES = () =>
  PROJECT_DOCUMENTS.map((document) => ({
    path: pageOf(document),
    params: { document: document.toLowerCase() },
    content: readFileSync(`${ROOT}${document}.md`, 'utf8'),
  }));

/** Where the files of the repository are shown, such as `https://<host>/<owner>/<name>/blob/main`. Without it they are not linked. */
const SOURCE_URL = process.env.DOCS_SOURCE_URL?.replace(/\/$/, '');

/** The directory of the repository in which the text of a page is written. */
const directoryOf = (page) => (page.startsWith('project/') ? '.' : posix.dirname(`docs/${page}`));

/** The path of the page that shows a file or directory of the repository, if one does. */
function pageFor(target) {
  if (PROJECT_DOCUMENTS.includes(target.replace(/\.md$/, ''))) return pageOf(target.replace(/\.md$/, ''));
  if (!target.startsWith('docs/')) return undefined;
  const path = existsSync(`${ROOT}${target}/README.md`) ? `${target}/README.md` : target;
  return path.endsWith('.md') ? path.slice('docs/'.length).replace(/README\.md$/, 'index.md') : undefined;
}

/** Links are written for readers of the files. On the site they lead to pages, and to the repository where there is no page. */
export function linksOfRepository(md) {
  md.core.ruler.push('links_of_repository', ({ tokens, env }) => {
    for (const { children } of tokens) {
      const open = [];
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          rewriteLink(token, env.relativePath);
          open.push(token.tag);
        } else if (token.type === 'link_close') token.tag = open.pop();
        else if (token.type === 'image') rewriteImage(token, env.relativePath);
      }
    }
  });
}

/** A link that the site cannot follow becomes text, with the path as its title. */
function rewriteLink(token, page) {
  const [path, anchor] = token.attrGet('href').split('#');
  if (path === '' || path.startsWith('/') || /^[a-z]+:/.test(path)) return;
  const target = posix.join(directoryOf(page), path).replace(/\/$/, '');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  const targetPage = pageFor(target);
  if (targetPage !== undefined) token.attrSet('href', `/${targetPage}${hash}`);
  else if (SOURCE_URL !== undefined) token.attrSet('href', `${SOURCE_URL}/${target}${hash}`);
  else {
    token.tag = 'span';
    token.attrs = [['title', `${target} in the repository`]];
  }
}

function rewriteImage(token, page) {
  const source = token.attrGet('src');
  if (/^[a-z]+:/.test(source)) return;
  token.attrSet('src', posix.relative(posix.dirname(`docs/${page}`), posix.join(directoryOf(page), source)));
}
