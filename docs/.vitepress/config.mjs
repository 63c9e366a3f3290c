import { defineConfig } from 'vitepress';
import { apiPages } from './api-reference.mjs';
import { assertLinks } from './built-links.mjs';
import { linksOfRepository, PROJECT_PAGES } from './repository-links.mjs';
import { createSidebar, titleOf } from './sidebar.mjs';

/** The Markdown of the pages that are not files of docs/, by their path on the site. The search does not find it otherwise. */
const generatedPages = new Map([...PROJECT_PAGES(), ...apiPages()].map(({ path, content }) => [path, content]));

/** Where the README of the API names the pages that only the site has. */
const PAGES_OF_API = '<!-- pages of the reference -->';
const listOfApiPages = () =>
  apiPages()
    .map(({ params: { area }, content }) => `- [${titleOf(content)}](${area}.md)`)
    .join('\n');
const completed = (source) => source.replace(PAGES_OF_API, () => `## Pages\n\n${listOfApiPages()}`);

/** As GitHub does it, so that a link to a heading works at both places. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** Documents contain the placeholders of prompts, which the templates of Vue would evaluate. */
function withoutInterpolation(md) {
  for (const name of ['text', 'code_inline']) {
    const render = md.renderer.rules[name];
    md.renderer.rules[name] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;');
  }
}

const DESCRIPTION = 'Open, self-hosted control plane for coding-agent runs';

/** Charts of Mermaid, which GitHub draws. The pages have the same content as tables. */
function withFoldedCharts(md) {
  const render = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const html = render(tokens, index, ...rest);
    return tokens[index].info === 'mermaid' ? `<details><summary>Chart as text</summary>${html}</details>` : html;
  };
}

/** What the site shows above docs/README.md. */
const HOME = {
  layout: 'home',
  hero: {
    name: 'Headrace',
    tagline: DESCRIPTION,
    actions: [
      { theme: 'brand', text: 'Quick start', link: '/project/readme' },
      { theme: 'alt', text: 'API reference', link: '/api/' },
    ],
  },
};

export default defineConfig({
  title: 'Headrace',
  description: DESCRIPTION,
  lang: 'en',
  // GitHub shows the README of a directory, and the site its index.
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  markdown: {
    anchor: { slugify },
    // Syntax that GitHub does not have, and addresses that are only examples.
    attrs: false,
    emoji: false,
    linkify: false,
    config(md) {
      withoutInterpolation(md);
      withFoldedCharts(md);
      linksOfRepository(md);
    },
  },
  themeConfig: {
    nav: [
      { text: 'Quick start', link: '/project/readme' },
      { text: 'API', link: '/api/' },
      { text: 'Settings', link: '/operations/settings' },
    ],
    sidebar: createSidebar(),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            combineWith: 'AND',
            boost: { title: 8, titles: 2, text: 1 },
            // Short words would match the beginning or a variant of most words.
            prefix: (term) => term.length > 2,
            fuzzy: (term) => (term.length > 4 ? 0.2 : false),
          },
        },
        async _render(source, env, md) {
          const html = await md.renderAsync(completed(source || (generatedPages.get(env.relativePath) ?? '')), env);
          return env.frontmatter?.search === false ? '' : html;
        },
      },
    },
  },
  transformPageData: ({ relativePath }) => (relativePath === 'index.md' ? { frontmatter: HOME } : undefined),
  vite: {
    // The index of the search has about 1 MB.
    build: { chunkSizeWarningLimit: 1500 },
    plugins: [
      {
        name: 'pages-of-api',
        enforce: 'pre',
        transform: (source, id) => (id.endsWith('/api/README.md') ? completed(source) : undefined),
      },
    ],
  },
  buildEnd: ({ outDir, site }) => assertLinks(outDir, site.base),
});
