import { fullEnvironment } from './environment.mjs';
import { prepare } from './prepare.mjs';
import { StepFailed } from './run-step.mjs';
import { forwardSignals, startServer } from './server.mjs';

export const SERVERS = ['up', 'api', 'ingress', 'processor'];

/** Installs and builds what is stale, runs a server to its end, and returns its exit code. */
export async function launch(command) {
  if (!SERVERS.includes(command)) {
    console.error(`There is no server "${command}"; it is one of ${SERVERS.join(', ')}.`);
    return 2;
  }
  try {
    await prepare();
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    console.error(`Headrace cannot start: ${error.message}`);
    return 1;
  }
  const server = startServer(command, fullEnvironment());
  forwardSignals(server.child);
  return server.exited;
}
