import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { inRoot } from './paths.mjs';
import { runStep } from './run-step.mjs';

const stampFile = inRoot('node_modules/.headrace-stamp');

/** Installs the packages of the lock file when they are not there, or are others. */
export async function ensureInstalled() {
  const wanted = stamp();
  if (read(stampFile) === wanted) return;
  if (!matchesLockFile()) {
    console.log('Installing packages (npm ci) …');
    // The compiler is a development package, whatever NODE_ENV says.
    await runStep(...npm('ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'));
  }
  writeFileSync(stampFile, wanted);
}

function stamp() {
  const lock = createHash('sha256')
    .update(readFileSync(inRoot('package-lock.json')))
    .digest('hex');
  return `${lock} ${process.platform}-${process.arch}\n`;
}

/** npm's own record of what it installed: spares the installation to who ran `npm ci` or `npm install` by hand. */
function matchesLockFile() {
  const installed = read(inRoot('node_modules/.package-lock.json'));
  if (installed === null) return false;
  const wanted = JSON.parse(readFileSync(inRoot('package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(installed).packages;
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === '') return true;
    if (present[path] === undefined) return optional === true;
    return present[path].version === version && existsSync(inRoot(path));
  });
}

/** The npm that started us, or the one on the path. */
function npm(...args) {
  const own = process.env.npm_execpath;
  return own?.endsWith('npm-cli.js') && existsSync(own) ? [process.execPath, [own, ...args]] : ['npm', args];
}

function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}
