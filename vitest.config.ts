import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LATE_OPTIMIZATION } from './test/support/node-flags.js';
import { StartOrder } from './test/support/start-order.js';

const root = fileURLToPath(new URL('.', import.meta.url));

const aliases = (directory: string, extension: string) => [
  { find: /^#(platform|domain|execution)\/([^/]+)$/, replacement: `${directory}libs/$1/$2/src/index.${extension}` },
  { find: '#testing', replacement: `${root}libs/testing/src/index.ts` },
  { find: /^#apps\/(.+)$/, replacement: `${directory}apps/$1.${extension}` },
];

const resolve = { alias: aliases(root, 'ts') };

/** The built program. Node.js loads it in a fraction of the time of its sources, and executes it faster. */
const built = {
  alias: [
    ...aliases(`${root}dist/`, 'js'),
    { find: /^(?:\.\.\/)+(libs\/(?!testing\/)|apps\/(?!console\/))(.+\.js)$/, replacement: `${root}dist/$1$2` },
  ],
};
const builtDeps = { deps: { external: [/\/dist\/(libs|apps)\//] } };

/** Projects that need what their commands, such as `npm run test:docker`, start or name. */
const EXTERNAL = [
  ...(process.env.HEADRACE_TEST_DOCKER_DIR === undefined ? [] : ['docker']),
  ...(process.env.HEADRACE_TEST_KUBERNETES === undefined ? [] : ['kubernetes']),
];

/**
 * Of the processes that the tests of applications share. Most of what they allocate is garbage at once, and collected the less often
 * the more there may be of it: 7 to 10 % less processor time.
 */
const LARGE_YOUNG_GENERATION = '--max-semi-space-size=64';

const PROCESSES = ['agents', 'chaos', 'console', 'crash', 'journeys', 'launcher', 'plugins', 'runner', 'worker'];

/** An empty directory for the transformed code, which the projects of this run share. Set by `npm test`, which has built the program. */
const cacheDirectory = process.env.HEADRACE_TEST_CACHE;

export default defineConfig({
  test: {
    ...(cacheDirectory && { experimental: { fsModuleCache: true, fsModuleCachePath: cacheDirectory } }),
    pool: 'forks',
    // Twice the processors of the smallest machine: tests of processes wait for a part of their time.
    maxWorkers: 4,
    sequence: { sequencer: StartOrder },
    projects: [
      {
        resolve,
        test: {
          // Loading the code takes longer than most files take to run, so files share a process, and leave it as they found it.
          name: 'unit',
          include: ['libs/**/*.spec.ts', 'apps/**/*.spec.ts'],
          isolate: false,
          // They wait for little, and each process loads the code. Before the others, while the checks of `npm test` fill the processors.
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          restoreMocks: true,
          unstubEnvs: true,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve: built,
        test: {
          // What starts processes of the built program separately, or would leave something behind in its own.
          name: 'e2e',
          server: builtDeps,
          isolate: false,
          include: PROCESSES.map((directory) => `test/${directory}/**/*.e2e-spec.ts`),
          sequence: { groupOrder: 1 },
          execArgv: [LATE_OPTIMIZATION],
          globalSetup: ['test/global-setup.ts'],
          // Many of them wait for a dozen processes, four tests at the same time.
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Single files are tested without a build.
        resolve: cacheDirectory ? built : resolve,
        test: {
          // Applications within the test's process: loading them takes longer than most files take to run, so files share it.
          name: 'app',
          ...(cacheDirectory && { server: builtDeps }),
          include: ['test/**/*.spec.ts', 'test/**/*.e2e-spec.ts'],
          exclude: [
            'test/after/**',
            'test/docker/**',
            'test/kubernetes/**',
            ...PROCESSES.map((directory) => `test/${directory}/**`),
          ],
          isolate: false,
          sequence: { groupOrder: 1 },
          execArgv: [LARGE_YOUNG_GENERATION, LATE_OPTIMIZATION],
          setupFiles: ['test/support/fresh-file.ts'],
          globalSetup: ['test/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      ...EXTERNAL.map((name) => ({
        resolve,
        test: {
          name,
          include: [`test/${name}/*.e2e-spec.ts`],
          fileParallelism: false,
          globalSetup: ['test/global-setup.ts', ...(name === 'docker' ? ['test/docker/global-setup.ts'] : [])],
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      })),
      {
        resolve,
        // What looks at what the others have left behind.
        test: { name: 'after', include: ['test/after/*.e2e-spec.ts'], sequence: { groupOrder: 2 } },
      },
    ],
  },
});
