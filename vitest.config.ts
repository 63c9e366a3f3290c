import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('.', import.meta.url));

const resolve = {
  alias: [
    { find: /^#libs\/([^/]+)$/, replacement: `${root}libs/$1/src/index.ts` },
    { find: /^#apps\/(.+)$/, replacement: `${root}apps/$1.ts` },
  ],
};

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        resolve,
        test: {
          name: 'unit',
          include: ['libs/**/*.spec.ts', 'apps/**/*.spec.ts'],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve,
        test: {
          name: 'e2e',
          include: ['test/**/*.spec.ts', 'test/**/*.e2e-spec.ts'],
          exclude: ['test/after/**'],
          globalSetup: ['test/global-setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve,
        // What looks at what the others have left behind.
        test: { name: 'after', include: ['test/after/*.e2e-spec.ts'], sequence: { groupOrder: 1 } },
      },
    ],
  },
});
