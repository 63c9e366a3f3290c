import { Logger } from '@nestjs/common';
import type { Settings } from '#platform/config';
import { JsonLogger, type Telemetry, telemetry } from '#platform/observability';

export async function logToOutput({
  logLevel,
  logLevels,
  logFormat,
}: Pick<Settings, 'logLevel' | 'logLevels' | 'logFormat'>): Promise<void> {
  const isText = logFormat === 'text' || (logFormat === 'auto' && process.stdout.isTTY);
  const destination = isText ? await textFormatter() : undefined;
  const exporter = telemetry();
  Logger.overrideLogger(
    new JsonLogger(logLevel, exporter?.exportsLogs ? exportedToo(exporter, destination) : destination, true, logLevels),
  );
}

interface Destination {
  write(line: string): void;
}

const STANDARD_OUTPUT: Destination = { write: (line) => void process.stdout.write(line) };

const exportedToo = (exporter: Telemetry, output = STANDARD_OUTPUT): Destination => ({
  write: (line) => {
    output.write(line);
    exporter.writeLine(line);
  },
});

/** Loaded lazily, because most processes log JSON. */
async function textFormatter(): Promise<Destination> {
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({
    colorize: process.stdout.isTTY && !process.env.NO_COLOR,
    translateTime: 'SYS:HH:MM:ss.l',
    // These fields are for log collectors, not for a terminal.
    ignore: 'pid,trace_id,span_id,logger',
    singleLine: true,
  });
  return { write: (line) => void process.stdout.write(format(line)) };
}

/** For commands whose standard output is their result: logs warnings and errors to standard error. */
export function logErrorsOnly(): void {
  Logger.overrideLogger(new JsonLogger('warn', { write: (line: string) => void process.stderr.write(line) }));
}
