import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { harmlessEnvironment } from './environment.mjs';
import { programOf } from './paths.mjs';

/**
 * Starts a server process in a separate session, so that Ctrl-C reaches only us, and hands the settings over by
 * descriptor 3. That stays open: the server stops by itself when we are gone, and answers `ready` on it.
 * `exited` resolves with the exit code; `ready` with whether it became ready.
 */
export function startServer(command, environment, { output = 'inherit' } = {}) {
  const child = spawn(process.execPath, [programOf(environment), command], {
    env: { ...harmlessEnvironment(environment), HEADRACE_SETTINGS_FD: '3' },
    stdio: ['ignore', output, output, 'pipe'],
    detached: true,
  });
  const channel = child.stdio[3];
  channel.on('error', () => undefined); // It died before it read its settings; its exit code tells.
  channel.write(`${JSON.stringify(environment)}\n`);
  const exited = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      // SIGTERM is how we stop it before it listens for signals.
      if (signal !== null && signal !== 'SIGTERM') console.error(`The server was killed by signal ${signal}.`);
      resolve(code ?? 1);
    });
  });
  const said = new Promise((resolve) =>
    createInterface({ input: channel })
      // It emits the errors of the channel again.
      .on('error', () => undefined)
      .on('line', (line) => line === 'ready' && resolve(true)),
  );
  return { child, exited, ready: Promise.race([said, exited.then(() => false)]) };
}

/** Passes the first signal that we get on, once: npm and the terminal may both send it. */
export function forwardSignals(child) {
  let sent = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (!sent) child.kill('SIGTERM');
      sent = true;
    });
  }
}
