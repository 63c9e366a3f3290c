import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Environment } from '#platform/config';

export interface Launcher {
  readonly environment: Environment;
  /** Resolves when the launcher ended without stopping this process; never without a launcher. */
  readonly gone: Promise<void>;
  sayReady(): void;
}

/**
 * The launcher passes all settings as one JSON line on the file descriptor of HEADRACE_SETTINGS_FD, because agents may be able
 * to read the environment of this process. The descriptor stays open; its end means that the launcher died. Without it,
 * settings come from the environment.
 */
export async function connectLauncher(): Promise<Launcher> {
  const descriptor = process.env.HEADRACE_SETTINGS_FD;
  if (descriptor === undefined) {
    return { environment: { ...process.env }, gone: new Promise(() => undefined), sayReady: () => undefined };
  }
  const channel = new Socket({ fd: Number(descriptor), readable: true, writable: true });
  const gone = new Promise<void>((resolve) => channel.once('close', () => resolve()));
  channel.on('error', () => channel.destroy());
  channel.on('end', () => channel.destroy());
  const environment = await firstLine(channel);
  // The channel alone must not keep the process alive.
  channel.unref();
  return { environment, gone, sayReady: () => void channel.write('ready\n') };
}

function firstLine(channel: Socket): Promise<Environment> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: channel });
    // It repeats the errors of the channel; `close` follows.
    lines.on('error', () => undefined);
    lines.once('line', (line) => resolve(JSON.parse(line) as Environment));
    channel.once('close', () => reject(new Error('The launcher passed no settings.')));
  });
}
