// Writes the files that are made from the code, or with --check says which are not up to date.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { renderApiReport } from './lib/api-report.mjs';
import { inRoot } from './lib/paths.mjs';
import { prepare } from './lib/prepare.mjs';
import { renderBackgroundWork, renderSettings, renderStateMachine } from './lib/render-documents.mjs';
import { StepFailed } from './lib/run-step.mjs';

/** File → how its text is made from the build. */
const FILES = {
  '.env.example': async () => (await built('libs/platform/config/src/index.js', 'renderEnvExample'))(),
  'docs/extending/api.md': () => renderApiReport(),
  'docs/operations/background-work.md': async () => {
    // The applications import every library that declares tasks.
    for (const module of [
      'api/src/app.module.js',
      'ingress/src/ingress.module.js',
      'processor/src/processor.module.js',
    ])
      await import(pathToFileURL(inRoot('dist/apps', module)).href);
    return renderBackgroundWork((await built('libs/platform/jobs/src/index.js', 'definedTasks'))());
  },
  'docs/operations/settings.md': async () =>
    renderSettings(await built('libs/platform/config/src/index.js', 'SETTINGS')),
  'docs/state-machines/execution.md': async () =>
    renderStateMachine((await built('libs/execution/executions/src/index.js', 'EXECUTION_PHASE_MACHINE')).definition),
  'docs/state-machines/run.md': async () =>
    renderStateMachine((await built('libs/execution/executions/src/index.js', 'RUN_STATE_MACHINE')).definition),
  'openapi.json': async () => (await built('apps/api/src/openapi.js', 'renderOpenApi'))(),
};

async function built(module, name) {
  const file = inRoot('dist', module);
  if (!existsSync(file)) throw new StepFailed(`${module} is not in the build, but generated files are made from it.`);
  const value = (await import(pathToFileURL(file).href))[name];
  if (value === undefined)
    throw new StepFailed(`${module} does not export ${name}, but generated files are made from it.`);
  return value;
}

async function generate(check) {
  await prepare();
  // Decorated classes in the build need it before they are loaded.
  await import('reflect-metadata');
  const stale = [];
  for (const [path, render] of Object.entries(FILES)) {
    const [file, text] = [inRoot(path), await render()];
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
    stale.push(path);
    if (check) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    console.log(`Wrote ${path}.`);
  }
  if (!check || stale.length === 0) return 0;
  console.error(`Not up to date: ${stale.join(', ')}. Run \`npm run generate\` and commit the result.`);
  return 1;
}

try {
  process.exit(await generate(process.argv.includes('--check')));
} catch (error) {
  if (!(error instanceof StepFailed)) throw error;
  console.error(error.message);
  process.exit(1);
}
