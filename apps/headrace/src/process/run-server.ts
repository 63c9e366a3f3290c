import { Logger } from '@nestjs/common';
import { findMisspelledSettings, type RunningApp, type Settings, SETTINGS } from '#platform/config';
import { CommandError } from '../cli/command.js';
import { connectLauncher } from './launcher.js';
import { logToOutput } from './logging.js';
import { prepareSettings } from './prepare-settings.js';
import { type DatabaseWait, waitForDatabase } from './database.js';

/** Time to close connections, pools and the database, after the SHUTDOWN_GRACE of started runs. */
const CLOSING_EXTRA_MS = 20_000;
const LINGER_MS = 2_000;

export interface ServerProcess {
  readonly settings: Settings;
  /** Opened parts, which are closed in reverse order. */
  readonly opened: ClosingStack;
  /** How a start waits for a database that is not available. */
  readonly wait: DatabaseWait;
  /** Starts an application and adds it to the opened parts. */
  readonly startApp: (
    name: string,
    start: (settings: Settings) => Promise<RunningApp>,
    settings: Settings,
  ) => Promise<RunningApp>;
}

/**
 * Runs a server process: reads the settings, calls `start`, waits for a stop request and closes everything. `start` returns
 * the message that is printed when the process is ready. Returns the exit code: 0 after a clean stop.
 */
export async function runServer(start: (server: ServerProcess) => Promise<string>): Promise<number> {
  // The reader of the output may exit before this process.
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  const launcher = await connectLauncher();
  const stop = new StopRequest(launcher.gone);
  const settings = await prepareSettings(launcher.environment);
  await logToOutput(settings);
  const logger = new Logger('Process');
  for (const { given, meant } of findMisspelledSettings(launcher.environment))
    logger.warn(`${given} is not a setting and has no effect. Did you mean ${meant}?`);
  process.on('uncaughtException', (error) => {
    logger.fatal(error);
    stop.make('fault');
  });
  const wait = { timeoutMs: settings.databaseStartTimeout, signal: stop.signal };
  const opened = new ClosingStack(settings.shutdownGrace + CLOSING_EXTRA_MS);
  const apps: RunningApp[] = [];
  let clean = false;
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
    if (!stop.isMade) {
      process.stdout.write(`${message}\n`);
      launcher.sayReady();
    }
    await stop.wait();
    logger.log(`Stopping (${stop.reason}) …`);
    for (const app of apps) app.beginShutdown?.();
  } finally {
    clean = await opened.close();
  }
  logger.log('Stopped.');
  const code = clean && stop.reason !== 'fault' ? 0 : 1;
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

async function startApp(name: string, start: () => Promise<RunningApp>, settings: Settings): Promise<RunningApp> {
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
export type StopReason = 'signal' | 'launcher gone' | 'fault';

/** A request to stop: SIGINT or SIGTERM, the end of the launcher, or a fault. A second signal ends the process immediately. */
export class StopRequest {
  private made: StopReason | null = null;
  private readonly arrived: Promise<void>;
  private arrive: () => void = () => undefined;
  private readonly controller = new AbortController();

  constructor(launcherGone: Promise<void>) {
    this.arrived = new Promise((resolve) => (this.arrive = resolve));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (this.made !== null) process.exit(1);
        this.make('signal');
      });
    }
    void launcherGone.then(() => this.make('launcher gone'));
  }

  get reason(): StopReason | null {
    return this.made;
  }

  get isMade(): boolean {
    return this.made !== null;
  }

  /** Aborts with the request. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  wait(): Promise<void> {
    return this.arrived;
  }

  /** The first reason counts. */
  make(reason: StopReason): void {
    this.made ??= reason;
    this.controller.abort();
    this.arrive();
  }
}

interface Item {
  readonly name: string;
  readonly close: () => Promise<void> | void;
}

/** Parts that are closed in reverse order of opening. A part that fails or hangs does not keep the others open. */
export class ClosingStack {
  private readonly logger = new Logger('Shutdown');
  private readonly items: Item[] = [];

  /** @param timeoutMs per part. */
  constructor(private readonly timeoutMs: number) {}

  add(name: string, close: () => Promise<void> | void): void {
    this.items.push({ name, close });
  }

  /** Closes everything. False when a part failed or did not end in time. */
  async close(): Promise<boolean> {
    let clean = true;
    for (let item = this.items.pop(); item; item = this.items.pop()) clean = (await this.closeOne(item)) && clean;
    return clean;
  }

  private async closeOne({ name, close }: Item): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`not closed after ${this.timeoutMs} ms`)), this.timeoutMs);
    });
    try {
      await Promise.race([close(), timeout]);
      return true;
    } catch (error) {
      this.logger.error(`${name} did not close: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    } finally {
      clearTimeout(timer);
    }
  }
}
