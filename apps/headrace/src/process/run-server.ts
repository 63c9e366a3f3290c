import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import { findMisspelledSettings, type RunningApp, type Settings, SETTINGS } from '#platform/config';
import { within } from '#platform/kernel';
import { CommandError, isForUser } from '../cli/command.js';
import { connectLauncher } from './launcher.js';
import { logToOutput } from './logging.js';
import { prepareSettings } from './prepare-settings.js';
import { openTelemetry } from './telemetry.js';
import { type DatabaseWait, waitForDatabase } from './database.js';

/** Time to close connections, pools and the database, after the SHUTDOWN_GRACE of started runs. */
const CLOSING_EXTRA_MS = 20_000;
const LINGER_MS = 2_000;

/** Time that each part has to close. */
export const closingTime = ({ shutdownGrace }: Pick<Settings, 'shutdownGrace'>): number =>
  shutdownGrace + CLOSING_EXTRA_MS;

export interface ServerProcess {
  readonly settings: Settings;
  readonly opened: ClosingStack;
  readonly wait: DatabaseWait;
  /** Starts an application and adds it to the opened parts. */
  readonly startApp: (
    name: string,
    start: (settings: Settings) => Promise<RunningApp>,
    settings: Settings,
  ) => Promise<RunningApp>;
}

/** `start` returns the message that is printed when the process is ready. Returns the exit code: 0 after a clean stop. */
export async function runServer(start: (server: ServerProcess) => Promise<string>): Promise<number> {
  // The reader of the output may exit before this process.
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  const launcher = await connectLauncher();
  const stop = listenForStop(launcher.gone);
  const settings = await prepareSettings(launcher.environment);
  const opened = new ClosingStack(closingTime(settings));
  await openTelemetry(settings, opened);
  await logToOutput(settings);
  const logger = new Logger('Process');
  for (const { given, meant } of findMisspelledSettings(launcher.environment))
    logger.warn(`${given} is not a setting and has no effect. Did you mean ${meant}?`);
  process.on('uncaughtException', (error) => {
    logger.fatal(error);
    stop.abort('fault' satisfies StopReason);
  });
  const wait = { timeoutMs: settings.databaseStartTimeout, signal: stop.signal };
  const apps: RunningApp[] = [];
  let clean = false;
  let isStarted = false;
  try {
    const message = await start({
      settings,
      opened,
      wait,
      startApp: async (name, startIt, withSettings) => {
        const app = await startApp(name, () => waitForDatabase(wait, () => startIt(withSettings)), withSettings);
        apps.push(app);
        opened.add(name, () => app.close());
        return app;
      },
    });
    isStarted = true;
    if (!stop.signal.aborted) {
      process.stdout.write(`${message}\n`);
      launcher.sayReady();
      await once(stop.signal, 'abort');
    }
    logger.log(`Stopping (${String(stop.signal.reason)}) …`);
    for (const app of apps) app.beginShutdown?.();
  } catch (error) {
    if (isForUser(error)) throw error;
    logger.fatal(error);
  } finally {
    clean = await opened.close();
  }
  logger.log('Stopped.');
  const code = isStarted && clean && stop.signal.reason !== 'fault' ? 0 : 1;
  // Everything is closed; a forgotten handle must not keep the process alive.
  setTimeout(() => process.exit(code), LINGER_MS).unref();
  return code;
}

/** The settings that have this port, for the message about a port in use. */
const portSettings = (settings: Settings, port: number | undefined): string =>
  Object.entries(SETTINGS)
    .filter(([field, { env }]) => /(^|_)PORT$/.test(env) && settings[field as keyof Settings] === port)
    .map(([, { env }]) => env)
    .join(' or ');

/** Starts an application; problems of its port are reported for the user. */
export async function startApp(
  name: string,
  start: () => Promise<RunningApp>,
  settings: Settings,
): Promise<RunningApp> {
  try {
    return await start();
  } catch (error) {
    const { code, port, address } = error as { code?: string; port?: number; address?: string };
    if (code === 'EADDRINUSE')
      throw new CommandError(
        `${name}: port ${port} is used by another process. Set ${portSettings(settings, port)} to another one, or to 0.`,
      );
    if (code === 'EACCES' || code === 'EADDRNOTAVAIL')
      throw new CommandError(`${name}: cannot listen on ${address ?? settings.host}, port ${port} (${code}).`);
    throw error;
  }
}

/** Why this process stops. After a fault, an uncaught exception, its state is not reliable. */
type StopReason = 'signal' | 'launcher gone' | 'fault';

/** Aborts with the first reason to stop. A second signal ends the process immediately. */
function listenForStop(launcherGone: Promise<void>): AbortController {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1);
      stop.abort('signal' satisfies StopReason);
    });
  }
  void launcherGone.then(() => stop.abort('launcher gone' satisfies StopReason));
  return stop;
}

/** Parts that are closed in reverse order of opening. A part that fails or hangs does not keep the others open. */
export class ClosingStack {
  private readonly logger = new Logger('Shutdown');
  private readonly parts: (readonly [name: string, close: () => Promise<void> | void])[] = [];

  /** @param timeoutMs per part. */
  constructor(private readonly timeoutMs: number) {}

  add(name: string, close: () => Promise<void> | void): void {
    this.parts.push([name, close]);
  }

  /** Closes everything. False when a part failed or did not end in time. */
  async close(): Promise<boolean> {
    let clean = true;
    for (const [name, close] of this.parts.toReversed()) {
      try {
        await within(this.timeoutMs, Promise.resolve().then(close), () => {
          throw new Error(`not closed after ${this.timeoutMs} ms`);
        });
      } catch (error) {
        clean = false;
        this.logger.error(`${name} did not close: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return clean;
  }
}
