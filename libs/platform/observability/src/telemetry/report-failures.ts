import type { Logger } from '@nestjs/common';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';

interface Exporter<Item> {
  export(items: Item[], resultCallback: (result: ExportResult) => void): void;
  shutdown(): Promise<void>;
  forceFlush?(): Promise<void>;
}
/** `forceFlush` is there also where the exporter has none. */
type ReportedExporter<Item> = Required<Exporter<Item>>;

/**
 * The exporter, with one line in the log when it begins to fail and one when it works again: an unreachable receiver is reported once,
 * however long it lasts.
 */
export function reportFailures<Item, Of extends Exporter<Item>>(
  exporter: Of,
  signal: string,
  logger: Logger,
): ReportedExporter<Item> {
  let lost: number | null = null;
  return {
    export: (items, resultCallback) =>
      exporter.export(items, (result) => {
        if (result.code === ExportResultCode.FAILED) {
          // The response of the receiver is not logged: it may repeat what was sent.
          if (lost === null) logger.warn(`${signal} cannot be exported and are dropped: ${reasonOf(result.error)}`);
          lost = (lost ?? 0) + items.length;
        } else if (lost !== null) {
          logger.log(`${signal} are exported again; ${lost} were dropped.`);
          lost = null;
        }
        // The SDK would report each failure again.
        resultCallback({ code: ExportResultCode.SUCCESS });
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

const reasonOf = (error: Error | undefined): string => {
  const { code, message = 'no reason was given' } = (error ?? {}) as { code?: unknown; message?: string };
  return typeof code === 'number' ? `HTTP status ${code}.` : `${message}.`;
};
