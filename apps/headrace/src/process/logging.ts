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

class ServerLogger extends JsonLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    const name = rest.at(-1);
    if (typeof name === 'string' && ASSEMBLY.has(name)) this.debug(message, ...rest);
    else super.log(message, ...rest);
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
