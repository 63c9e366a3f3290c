import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Environment } from '#platform/config';

/** Who started this process. */
export interface Launcher {
  /** Where settings come from. */
  readonly environment: Environment;
  /** Resolves when the launcher is gone without having stopped us; never, when nobody watches over us. */
  readonly gone: Promise<void>;
  sayReady(): void;
}

/**
 * The launcher hands all settings over as one JSON line on the descriptor that HEADRACE_SETTINGS_FD names, because
 * agents may be able to read the environment of this process. The descriptor stays open: its end means that the
 * launcher died. Without one, settings come from the environment.
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
  // It alone is no reason to live on.
  channel.unref();
  return { environment, gone, sayReady: () => void channel.write('ready\n') };
}

function firstLine(channel: Socket): Promise<Environment> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: channel });
    // It emits the errors of the channel again; `close` follows.
    lines.on('error', () => undefined);
    lines.once('line', (line) => resolve(JSON.parse(line) as Environment));
    channel.once('close', () => reject(new Error('The launcher handed no settings over.')));
  });
}
