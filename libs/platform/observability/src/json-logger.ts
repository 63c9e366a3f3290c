import type { LoggerService, LogLevel } from '@nestjs/common';
import { type DestinationStream, type Logger as PinoLogger, type LoggerOptions, pino } from 'pino';
import { inspect } from 'node:util';
import { RepeatedLines } from './repeated-lines.js';
import { currentContext, type RequestContext } from './request-context.js';

export type LogThreshold = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Extra fields of one line. Never tokens, prompts, bodies or query values. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Log lines of Nest while it assembles an application: about a hundred, useful only to debug the assembly. */
const ASSEMBLY: readonly unknown[] = [
  ...['InstanceLoader', 'NestApplication', 'NestFactory'],
  ...['RouterExplorer', 'RoutesResolver', 'WebSocketsController'],
];
/** Warns about data sources with the same name, which is intended for several applications in one process. */
const EXPECTED_WARNINGS: readonly unknown[] = ['DataSourceNameRegistry'];

type PinoLevel = Exclude<LogThreshold, 'silent'>;

/**
 * One JSON object a line: time, level, message, the name of the logging class, trace and span of the request.
 * Nest's `Logger` writes to it: `new Logger(Name).warn('text', {field: 1})` becomes a line with `field`, and so does
 * `warn({ msg: 'text', field: 1 })`.
 */
export class JsonLogger implements LoggerService {
  private readonly pino: PinoLogger;
  private readonly repeated: RepeatedLines | null;

  /**
   * @param sumsUpRepetitions whether equal warnings and errors are written once and then counted.
   * @param thresholds of single loggers, by their names, instead of `threshold`.
   */
  constructor(
    private readonly threshold: LogThreshold,
    destination?: DestinationStream,
    sumsUpRepetitions = false,
    private readonly thresholds: ReadonlyMap<string, LogThreshold> = new Map(),
  ) {
    this.repeated = sumsUpRepetitions ? new RepeatedLines() : null;
    const options: LoggerOptions = {
      level: lowest([threshold, ...thresholds.values()]),
      base: { pid: process.pid },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    };
    this.pino = destination ? pino(options, destination) : pino(options);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(ASSEMBLY.includes(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write(EXPECTED_WARNINGS.includes(rest.at(-1)) ? 'debug' : 'warn', message, rest);
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

  private thresholdOf(logger: unknown): LogThreshold {
    return (typeof logger === 'string' ? this.thresholds.get(logger) : undefined) ?? this.threshold;
  }

  private write(level: PinoLevel, given: unknown, rest: unknown[]): void {
    if (!this.pino.isLevelEnabled(level)) return;
    if (this.thresholds.size > 0 && rankOf(level) < rankOf(this.thresholdOf(rest.at(-1)))) return;
    const { message, fields, stack } = parts(given, rest);
    const context = currentContext();
    const line = { ...contextFields(context), ...fields, ...(stack === undefined ? {} : { stack }) };
    // The error of a request is always written: its trace id must be found in the log.
    if (this.repeated && REPEATABLE.has(level) && !(level === 'error' && context)) {
      const sumUp = (count: number): void => this.pino[level]({ ...fields, repeated: count }, message);
      if (!this.repeated.isNew(keyOf(level, message, fields), sumUp)) return;
    }
    this.pino[level](line, message);
  }
}

const rankOf = (threshold: LogThreshold): number => pino.levels.values[threshold] ?? Infinity;
const lowest = (thresholds: readonly LogThreshold[]): LogThreshold =>
  thresholds.reduce((low, one) => (rankOf(one) < rankOf(low) ? one : low));

const REPEATABLE: ReadonlySet<PinoLevel> = new Set(['warn', 'error']);

interface LineParts {
  readonly message: string | undefined;
  readonly fields: Record<string, unknown>;
  readonly stack: string | undefined;
}

/** What a line consists of: `given` is a text, an error, or an object whose `msg` is the text. */
function parts(given: unknown, rest: readonly unknown[]): LineParts {
  const fields: Record<string, unknown> = {};
  let stack: string | undefined;
  // Nest appends the logger's name as the last parameter; errors may bring a stack before it.
  const extra = [...rest];
  const name = extra.at(-1);
  if (typeof name === 'string') {
    fields.logger = name;
    extra.pop();
  }
  for (const item of extra) {
    if (typeof item === 'string') stack = item;
    else if (item instanceof Error) stack = item.stack;
    else if (typeof item === 'object' && item !== null) Object.assign(fields, item);
  }
  if (given instanceof Error) return { message: given.message, fields, stack: stack ?? given.stack };
  if (typeof given !== 'object' || given === null) return { message: String(given), fields, stack };
  const { msg, ...more } = given as { msg?: unknown };
  Object.assign(fields, more);
  return { message: typeof msg === 'string' ? msg : undefined, fields, stack };
}

function contextFields(context: RequestContext | undefined): Record<string, unknown> {
  if (!context) return {};
  const { traceId, spanId, route, principal } = context;
  return {
    trace_id: traceId,
    span_id: spanId,
    ...(route !== undefined && { route }),
    ...(principal !== undefined && { principal }),
  };
}

/** Equal for lines that say the same; stacks differ by how the code was reached. */
function keyOf(level: string, message: string | undefined, fields: Record<string, unknown>): string {
  return `${level} ${message ?? ''} ${inspect({ ...fields, stack: undefined }, { depth: 3, breakLength: Infinity })}`;
}
