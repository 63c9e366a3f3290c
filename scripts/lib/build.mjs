import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { LOCK_NAME } from './build-lock.mjs';
import { inRoot, mainProgram } from './paths.mjs';
import { runStep } from './run-step.mjs';

const stampFile = inRoot('dist/.headrace-stamp');

/** Compiles when the sources are not those that `dist` was made of. */
export async function ensureBuilt() {
  const wanted = stamp();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted && existsSync(mainProgram)) return;
  console.log('Building …');
  // The compiler's memory of a directory whose files somebody removed would make it write too little.
  if (!existsSync(mainProgram)) clearBuild();
  rmSync(stampFile, { force: true });
  // Types are checked by `npm test` and by `npm run build`: half of the time, and the same programs without.
  await runStep(process.execPath, [
    inRoot('node_modules/typescript-7/bin/tsc'),
    '-p',
    'tsconfig.build.json',
    '--noCheck',
  ]);
  // In another process: the launcher, which stays as long as the server, would keep hundreds of megabytes of the bundler.
  await runStep(process.execPath, [inRoot('scripts/bundle.mjs')]);
  await runStep(process.execPath, [
    inRoot('node_modules/vite/bin/vite.js'),
    'build',
    'apps/console',
    '--logLevel',
    'warn',
  ]);
  writeFileSync(stampFile, wanted);
}

/** All but the lock that we hold. */
function clearBuild() {
  for (const name of readdirSync(inRoot('dist')))
    if (name !== LOCK_NAME) rmSync(inRoot('dist', name), { recursive: true, force: true });
}

/** Identifies the sources. */
export function stamp() {
  const hash = createHash('sha256');
  const files = [
    'package-lock.json',
    'package.json',
    'scripts/lib/bundle.mjs',
    'scripts/lib/program.cjs',
    'tsconfig.json',
    'tsconfig.build.json',
    ...sources('apps'),
    ...sources('libs'),
  ];
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(inRoot(file)))
      .update('\0');
  return `${hash.digest('hex')}\n`;
}

function sources(directory) {
  return readdirSync(inRoot(directory), { recursive: true, withFileTypes: true })
    .filter(
      // Generated types are written while the program is used; the build does without them.
      (entry) =>
        entry.isFile() && /\.(tsx?|json|css|html|svg)$/.test(entry.name) && !/(\.gen|spec)\.ts$/.test(entry.name),
    )
    .map((entry) => `${(entry.parentPath ?? entry.path).slice(inRoot().length + 1)}/${entry.name}`)
    .sort();
}
