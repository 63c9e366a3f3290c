import { Logger } from '@nestjs/common';
import { JsonLogger, type LogThreshold } from '#libs/observability';

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

/** JSON lines on standard output, from LOG_LEVEL on. */
export function logToOutput(level: LogThreshold): void {
  Logger.overrideLogger(new ServerLogger(level));
}

/** For commands whose output is their answer: warnings and worse, on standard error. */
export function logFaultsOnly(): void {
  Logger.overrideLogger(new JsonLogger('warn', { write: (line: string) => void process.stderr.write(line) }));
}
