import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('.', import.meta.url));

const resolve = {
  alias: [
    { find: /^#libs\/([^/]+)$/, replacement: `${root}libs/$1/src/index.ts` },
    { find: /^#apps\/(.+)$/, replacement: `${root}apps/$1.ts` },
  ],
};

const PROCESSES = ['crash', 'journeys', 'launcher', 'runner'];

export default defineConfig({
  test: {
    pool: 'forks',
    // One more than the processors of the smallest machine: tests of processes wait half of their time.
    maxWorkers: 3,
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
          // What starts processes of its own, or would leave something behind in its own.
          name: 'e2e',
          include: PROCESSES.map((directory) => `test/${directory}/**/*.e2e-spec.ts`),
          globalSetup: ['test/global-setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve,
        test: {
          // Applications within the test's process: loading them takes longer than most files take to run, so files share it.
          name: 'app',
          include: ['test/**/*.spec.ts', 'test/**/*.e2e-spec.ts'],
          exclude: ['test/after/**', ...PROCESSES.map((directory) => `test/${directory}/**`)],
          isolate: false,
          setupFiles: ['test/support/fresh-file.ts'],
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
