import { defineConfig } from 'vite';

/** Relative URLs, so that the console works under any path. The server sends nothing inline. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  clearScreen: false,
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          // Small, and used by most views: the headers of a response for each would be as large as their scripts.
          groups: [{ name: 'components', test: /\/components\/(copy|resource|table|tabs)\.tsx?$/ }],
        },
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
