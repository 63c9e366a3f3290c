import { Logger } from '@nestjs/common';
import { JsonLogger } from '#platform/observability';

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Everything that this process logs, from `debug` on, since it was installed. */
export class CapturedLog {
  private readonly raw: string[] = [];

  private static current: CapturedLog | null = null;

  /** One for the process, however many applications it starts: Nest's logger is one for the process too. */
  static install(): CapturedLog {
    const log = (CapturedLog.current ??= new CapturedLog());
    Logger.overrideLogger(new JsonLogger('debug', { write: (line: string) => void log.raw.push(line) }));
    return log;
  }

  get text(): string {
    return this.raw.join('');
  }

  get lines(): LogLine[] {
    return this.raw.map((line) => JSON.parse(line) as LogLine);
  }

  /** What went wrong on our side. */
  get errors(): LogLine[] {
    return this.lines.filter(({ level }) => level === 'error' || level === 'fatal');
  }

  clear(): void {
    this.raw.length = 0;
  }
}
