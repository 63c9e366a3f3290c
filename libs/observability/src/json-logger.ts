import type { LoggerService, LogLevel } from '@nestjs/common';
import { type DestinationStream, type Logger as PinoLogger, type LoggerOptions, pino } from 'pino';
import { currentContext } from './request-context.js';

export type LogThreshold = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Extra fields of one line. Never tokens, prompts, bodies or query values. */
export type LogFields = Readonly<Record<string, unknown>>;

/** What Nest tells about itself at every start: one line per route and module. */
const CHATTY = new Set(['InstanceLoader', 'NestApplication', 'NestFactory', 'RouterExplorer', 'RoutesResolver']);

type PinoLevel = Exclude<LogThreshold, 'silent'>;

/**
 * One JSON object a line: time, level, message, the name of the logging class, trace and span of the request.
 * It stands behind Nest's `Logger`: `new Logger(Name).warn('text', {field: 1})` becomes a line with `field`.
 */
export class JsonLogger implements LoggerService {
  private readonly pino: PinoLogger;

  constructor(threshold: LogThreshold, destination?: DestinationStream) {
    const options: LoggerOptions = {
      level: threshold,
      base: { pid: process.pid },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    };
    this.pino = destination ? pino(options, destination) : pino(options);
  }

  log(message: unknown, ...rest: unknown[]): void {
    const name = rest.at(-1);
    this.write(typeof name === 'string' && CHATTY.has(name) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest asks for this with its own levels; the threshold of this installation is a setting and stays. */
  setLogLevels(_levels: LogLevel[]): void {
    this.pino.debug('log levels are set by LOG_LEVEL');
  }

  private write(level: PinoLevel, message: unknown, rest: unknown[]): void {
    if (!this.pino.isLevelEnabled(level)) return;
    const fields: Record<string, unknown> = {};
    const context = currentContext();
    if (context) {
      fields.trace_id = context.traceId;
      fields.span_id = context.spanId;
      if (context.route !== undefined) fields.route = context.route;
      if (context.principal !== undefined) fields.principal = context.principal;
    }
    // Nest appends the logger's name as the last parameter; errors may bring a stack before it.
    const extra = [...rest];
    const name = extra.at(-1);
    if (typeof name === 'string') {
      fields.logger = name;
      extra.pop();
    }
    for (const item of extra) {
      if (typeof item === 'string') fields.stack = item;
      else if (item instanceof Error) fields.stack = item.stack;
      else if (typeof item === 'object' && item !== null) Object.assign(fields, item);
    }
    if (message instanceof Error) {
      fields.stack ??= message.stack;
      this.pino[level](fields, message.message);
    } else if (typeof message === 'string') this.pino[level](fields, message);
    else this.pino[level](fields, JSON.stringify(message));
  }
}
