import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export const inRoot = (...parts) => join(root, ...parts);

/** The built command line, the program of every process of ours. */
export const mainProgram = inRoot('dist/headrace.cjs');

/**
 * The program of a process with these settings. The bundle contains copies of Nest and of the classes that plugins extend, so
 * a process with plugins is started from the modules that plugins import as `headrace/plugin`: see docs/adr/0030.
 */
export const programOf = ({ HEADRACE_PLUGINS: plugins = '' }) =>
  plugins.trim() === '' ? mainProgram : inRoot('dist/apps/headrace/src/main.js');
