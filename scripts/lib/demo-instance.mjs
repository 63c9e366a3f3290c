import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DemoFailed } from './api.mjs';
import { fullEnvironment } from './environment.mjs';
import { prepare } from './prepare.mjs';
import { forwardSignals, startServer } from './server.mjs';

/** The instance that the demo talks to: the one that runs, or one that it starts and stops itself. */
export async function withInstance(work) {
  const environment = fullEnvironment();
  const file = join(resolve(environment.HEADRACE_DATA_DIR || '.headrace'), 'connection.json');
  const running = await answering(file);
  if (running) {
    console.log(`Using the running instance at ${running.base_url}.`);
    return work(running);
  }
  await prepare();
  console.log('Starting Headrace …');
  // Free ports, unless they were chosen: nothing that runs already is in the way.
  const server = startServer('up', { PORT: '0', INGRESS_PORT: '0', ...environment }, { output: 'pipe' });
  forwardSignals(server.child);
  const log = [];
  for (const stream of [server.child.stdout, server.child.stderr]) stream.on('data', (chunk) => log.push(chunk));
  if (!(await server.ready)) throw new DemoFailed(`Headrace did not start:\n${Buffer.concat(log)}`);
  try {
    return await work(JSON.parse(readFileSync(file, 'utf8')));
  } finally {
    console.log('\nStopping Headrace …');
    server.child.kill('SIGTERM');
    await server.exited;
  }
}

async function answering(file) {
  if (!existsSync(file) || statSync(file).size === 0) return null;
  const connection = JSON.parse(readFileSync(file, 'utf8'));
  try {
    const response = await fetch(new URL('/health/ready', connection.base_url), { signal: AbortSignal.timeout(5000) });
    return response.ok ? connection : null;
  } catch {
    return null;
  }
}
