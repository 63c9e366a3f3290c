#!/usr/bin/env node
// The command line. Servers are started the way `npm start` does it; every other command runs in this process.
import { existsSync } from 'node:fs';
import { fullEnvironment } from '../scripts/lib/environment.mjs';
import { requireNode } from '../scripts/lib/node-version.mjs';
import { mainProgram, programOf } from '../scripts/lib/paths.mjs';

requireNode();
const { launch, SERVERS } = await import('../scripts/lib/launch.mjs');
const [command, ...rest] = process.argv.slice(2);
if (SERVERS.includes(command) && rest.length === 0) {
  process.exit(await launch(command));
} else if (existsSync(mainProgram)) {
  // A runner works where the files of others are: what their .env says is no setting of ours, and nothing for agents.
  const isAgent = command === 'agent';
  if (!isAgent) Object.assign(process.env, fullEnvironment());
  await import(isAgent ? mainProgram : programOf(process.env));
} else {
  console.error('Headrace is not built yet: run `npm start` once, or `npm ci && npm run build`.');
  process.exit(1);
}
