import { Logger } from '@nestjs/common';
import type { Settings } from '#platform/config';
import { JsonLogger } from '#platform/observability';

/** What Nest says while it assembles an application: a hundred lines that nobody reads unless something is wrong with it. */
const ASSEMBLY = new Set([
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestFactory',
  'NestApplication',
  'WebSocketsController',
]);

/** Warns of two data sources of one name in a process, which for three applications with a container each is as it should be. */
const KNOWN_BETTER = new Set(['DataSourceNameRegistry']);

const nameOf = (rest: readonly unknown[]): string => {
  const name = rest.at(-1);
  return typeof name === 'string' ? name : '';
};

class ServerLogger extends JsonLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (ASSEMBLY.has(nameOf(rest))) this.debug(message, ...rest);
    else super.log(message, ...rest);
  }

  override warn(message: unknown, ...rest: unknown[]): void {
    if (KNOWN_BETTER.has(nameOf(rest))) this.debug(message, ...rest);
    else super.warn(message, ...rest);
  }
}

/** To standard output, from LOG_LEVEL on, in the format of LOG_FORMAT. */
export async function logToOutput({ logLevel, logFormat }: Pick<Settings, 'logLevel' | 'logFormat'>): Promise<void> {
  const isText = logFormat === 'text' || (logFormat === 'auto' && process.stdout.isTTY);
  Logger.overrideLogger(new ServerLogger(logLevel, isText ? await textFormatter() : undefined, true));
}

/** Loaded only where it is used: most processes log JSON. */
async function textFormatter(): Promise<{ write(line: string): void }> {
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({
    colorize: process.stdout.isTTY && !process.env.NO_COLOR,
    translateTime: 'SYS:HH:MM:ss.l',
    // For programs that collect logs; a line on a terminal shows only what happened.
    ignore: 'pid,trace_id,span_id,logger',
    singleLine: true,
  });
  return { write: (line) => void process.stdout.write(format(line)) };
}

/** For commands whose output is their answer: warnings and worse, on standard error. */
export function logErrorsOnly(): void {
  Logger.overrideLogger(new JsonLogger('warn', { write: (line: string) => void process.stderr.write(line) }));
}
