// Builds the documentation site in a temporary directory. Fails at a link that leads to nothing, and at a page that is in no group
// of the sidebar. `npm run docs:build` checks the same, with the index of the search and colors of code.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vitepress';
import { inRoot } from './lib/paths.mjs';

const escaped = (code) => code.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const directory = mkdtempSync(join(tmpdir(), 'headrace-docs-'));
try {
  await build(inRoot('docs'), {
    outDir: directory,
    /** Leaves out what takes most of the time and contains no other links: colors of code, search, the sidebar of most pages. */
    onAfterConfigResolve(config) {
      // Another build may use its usual place at the same time. Below the packages, which the built pages import.
      config.tempDir = inRoot('node_modules', `.headrace-docs-${process.pid}`);
      const {
        markdown,
        site: { themeConfig },
      } = config;
      markdown.highlight = (code) => `<pre v-pre><code>${escaped(code)}</code></pre>`;
      themeConfig.search = undefined;
      themeConfig.sidebar = { '/project/': themeConfig.sidebar };
    },
  });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
