import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { apiPages } from './api-reference.mjs';
import { PROJECT_PAGES } from './repository-links.mjs';

const DOCS = fileURLToPath(new URL('../', import.meta.url));

/** In the sidebar, in place of the title of the page. */
const NAMES = { 'project/readme': 'Quick start' };

/**
 * The groups of the sidebar. A page belongs to the group that names it or its directory; a directory is written with a slash
 * at its end, and its pages are in the order of their titles.
 */
const GROUPS = [
  {
    text: 'Start',
    collapsed: false,
    pages: ['project/readme', 'start/user', 'start/webhook-sender', 'start/operator', 'start/extender'],
  },
  { text: 'Recipes', pages: ['recipes/'] },
  {
    text: 'Runs',
    pages: [
      'limits',
      'approvals',
      'interrupts',
      'reruns',
      'debug-window',
      'live-events',
      'snapshots',
      'concurrency',
      'notifications',
      'external-runs',
      'self-hosted-runs',
    ],
  },
  { text: 'Agents and skills', pages: ['harnesses', 'model-endpoints', 'builtin-agent', 'skills', 'running-skills'] },
  { text: 'Workspaces', pages: ['environments', 'environments-setup', 'pushes'] },
  {
    text: 'Automations',
    pages: [
      'automations',
      'automation-events',
      'automation-answers',
      'schedules',
      'factory-definitions',
      'apply-definitions',
    ],
  },
  { text: 'Webhooks', pages: ['webhooks/'] },
  { text: 'Clients', pages: ['console', 'command-line', 'api-compatibility'] },
  { text: 'API reference', pages: ['api/'] },
  { text: 'Administration', pages: ['administration', 'roles'] },
  { text: 'Operation', pages: ['operations/', 'performance', 'performance-lists'] },
  { text: 'Extension', pages: ['extending/'] },
  { text: 'Protocols and states', pages: ['runner-protocol', 'workers', 'state-machines/'] },
  {
    text: 'Project',
    pages: ['project/architecture', 'project/changelog', 'project/contributing', 'project/security'],
  },
  { text: 'Design decisions', pages: ['adr/'] },
];

/** Every page of the site with its title, sorted by path. Throws if a page is in no group, or a group names no page. */
export function createSidebar() {
  const pages = allPages();
  const groups = GROUPS.map(({ text, collapsed = true, pages: names }) => ({
    text,
    collapsed,
    items: names.flatMap((name) => takePages(pages, name)),
  }));
  const forgotten = [...pages.keys()].filter((path) => path !== 'index');
  if (forgotten.length > 0)
    throw new Error(
      `In no group of docs/.vitepress/sidebar.mjs: ${forgotten.map((path) => `docs/${path}.md`).join(', ')}.`,
    );
  return groups;
}

/** Removes the pages that `name` names, so that those of no group remain. */
function takePages(pages, name) {
  const paths = name.endsWith('/') ? [...pages.keys()].filter((path) => path.startsWith(name)) : [name];
  if (paths.length === 0 || !pages.has(paths[0]))
    throw new Error(`docs/.vitepress/sidebar.mjs names ${name}, which does not exist.`);
  return paths.map((path) => {
    const text = NAMES[path] ?? pages.get(path);
    pages.delete(path);
    return { text, link: `/${path.replace(/(^|\/)index$/, '$1')}` };
  });
}

function allPages() {
  const files = readdirSync(DOCS, { recursive: true })
    .filter((file) => file.endsWith('.md') && !file.startsWith('.') && !file.includes('['))
    .map((file) => ({
      path: file.replace(/README\.md$/, 'index.md'),
      content: readFileSync(`${DOCS}${file}`, 'utf8'),
    }));
  const entries = [...files, ...PROJECT_PAGES(), ...apiPages()].map(({ path, content }) => [
    path.replace(/\.md$/, ''),
    titleOf(content),
  ]);
  return new Map(entries.sort(([one], [other]) => order(one, other)));
}

/** The first page of a directory, then the others by path. */
const order = (one, other) => {
  const keys = [one, other].map((path) => path.replace(/(^|\/)index$/, '$1'));
  return keys[0] < keys[1] ? -1 : 1;
};

export const titleOf = (content) => /^# (.+)$/m.exec(content)[1].replaceAll('`', '');
